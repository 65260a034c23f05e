"""Commands and questions to the forwarder, as NFD understands them.

Below /localhost/nfd, for programs on this machine; below /localhop/nfd, if it is allowed, programs
on other machines may have routes to themselves.
"""
