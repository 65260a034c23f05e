"""Keys of private topics, as SDKs of other make publish them for their own examples and tests."""

from __future__ import annotations

from rumormill.bcos.sdk.topic_keys import TopicPrivateKey

GO_EXAMPLE = TopicPrivateKey(
    bytes.fromhex("b8ac1f6be271cd4ad5644615dea54823f7fa5d860fb8d3ae8b24141d9f1b9486")
)
"""Of the go-sdk's examples for private topics; the proof in the protocol's document is by it."""

GO_EXAMPLE_POINT = (
    "7cd0596006e3c0549482d010735303f25d6c308ef66643b63deef0a382a76205"
    "56eb49641cb3d45f4901a068a5e68475f8ba3b03a1bc785e84fe6490d66df365"
)

GO_SECOND = TopicPrivateKey(
    bytes.fromhex("0fe5e3ce06d6d48ec806ea17d13ce3d80e74b85f23c32c38f2c8e4180f539a7e")
)
GO_SECOND_POINT = (
    "19dece101df106ca4baf478f98911cdc525db5c6b58f2189af9f69ff314e9f0b"
    "cb816b41fb8bd49ae830dc1087bf51c71a21c3e3a332132262b5ecf0189817f4"
)

GO_PEM = b"""-----BEGIN PRIVATE KEY-----
MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQguJ1C8SKQBw8jX7j7Ydz5
bjsRUWxdT2Mz8m5Ju5Vfi2KhRANCAAQf+Lvzi2JmjS3R4rkA9+O4aVk/db7Hc7H+
uzWl00qEH2Esk9fGeiCLuuQKGX3+TspTTvWA99FFi67RXgF+Sj15
-----END PRIVATE KEY-----
"""
GO_PEM_SECRET = "b89d42f12290070f235fb8fb61dcf96e3b11516c5d4f6333f26e49bb955f8b62"
GO_PEM_ADDRESS = "83309d045a19c44dc3722d15a6abd472f95866ac"
"""The end of the Keccak-256 of its public key."""

JAVA_PUBLIC_PEM = b"""-----BEGIN PUBLIC KEY-----
MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAE17ngD1bT95MFNZ+i19sWYCHnMIa9zS56
KNbtJzReHy3ez4XbdDjoRX/UdO+cTOuJq7fV+mCiLykC7CbcpSrV5Q==
-----END PUBLIC KEY-----
"""
JAVA_PUBLIC_ADDRESS = "45e14c53197adbcb719d915fb93342c25600faaf"

SM2_PEM = b"""-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqBHM9VAYItBG0wawIBAQQgkBdEw04q3/yf1/sS
6Mui2Ip5qvVL6bThFmAVModInxOhRANCAAQ7cs0oJEyFbT2Jtn0cX/IuHyaDW6/N
Y+mkrTQkoqV/K3WRSfRsaW3wi52Uc2hmdfxtredE0Mgr3FWY11ngFf2W
-----END PRIVATE KEY-----
"""
SM2_PUBLIC_PEM = b"""-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoEcz1UBgi0DQgAE2c38uEnydXEayt7hrDtad291to5R
/IzJWEs3v7naSwq4m40QAPhiXfufthQbp9m5QKFKPprISerXQm/lcX0Fhw==
-----END PUBLIC KEY-----
"""

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Of secp256k1."""


def other_form(signature: bytes) -> bytes:
    """The same signature with the other s."""
    s = ORDER - int.from_bytes(signature[32:64], "big")
    return signature[:32] + s.to_bytes(32, "big") + signature[64:]
