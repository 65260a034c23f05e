"""What a forwarder keeps: routes, Interests that wait, Data, nonces of what is over."""
