"""What Spark reads and makes: the parts that need it.

Nothing is imported here: the producer for Kafka has an environment without Spark.
"""
