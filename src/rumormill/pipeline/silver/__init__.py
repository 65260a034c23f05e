"""From bronze to silver: plain functions from DataFrame to DataFrame."""
