"""What turns networks into a lasting node: the HTTP side, for Spark and for programs.

    GET  /v1/node                                who this is, and how far its spool reaches
    GET  /v1/topics                              topics, and who listens
    GET  /metrics                                counters and sizes, for Prometheus
    GET  /v1/spool/{kind}/offsets[?time_us=N]    which records there are
    GET  /v1/spool/{kind}/records?start=A&end=B  those records, as an Arrow IPC stream
    POST /v1/publish                             one message, as JSON
    POST /v1/publish/batch?key=K                 many, as an Arrow IPC stream; once per key

Errors are ``{"error": "one sentence"}`` with a fitting status.
"""
