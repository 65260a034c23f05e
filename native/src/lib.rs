//! Ed25519 for rumormill: `verify` and `sign`, and nothing that knows a protocol.
//!
//! What is accepted is what libsodium accepts, neither more nor less: nodes with and without this
//! extension must agree on every message. That is
//!
//! - a public key in its one encoding, on the curve, not of small order;
//! - an R in its one encoding, not of small order;
//! - an S below the order of the group;
//! - and `[S]B = R + [k]A`, without the cofactor.

mod slots;

use std::sync::LazyLock;

use curve25519_dalek::constants::EIGHT_TORSION;
use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::slots::Slots;

/// Authors whose key is kept decoded: about 230 bytes each.
const KNOWN_AUTHORS: usize = 4096;

/// Keys of our own; more than one where several nodes live in one process.
const KNOWN_SIGNERS: usize = 64;

static AUTHORS: LazyLock<Slots<VerifyingKey>> = LazyLock::new(|| Slots::new(KNOWN_AUTHORS));
static SIGNERS: LazyLock<Slots<SigningKey>> = LazyLock::new(|| Slots::new(KNOWN_SIGNERS));

/// The eight points of small order, as they are written.
static SMALL_ORDER: LazyLock<[[u8; 32]; 8]> =
    LazyLock::new(|| EIGHT_TORSION.map(|point| point.compress().to_bytes()));

/// Whether `signature` is that of `public_key` over `payload`, by the rules of libsodium.
fn accepts(public_key: &[u8], signature: &[u8], payload: &[u8]) -> bool {
    let (Ok(public_key), Ok(signature)) = (public_key.try_into(), signature.try_into()) else {
        return false;
    };
    let signature = Signature::from_bytes(signature);
    // The equation is checked by writing down the R that it demands and comparing bytes. So an R
    // that passes is in its one encoding, and a look into a table of eight finds the small orders:
    // decoding R to ask the point itself, as `verify_strict` does, would cost a quarter more.
    if SMALL_ORDER.contains(signature.r_bytes()) {
        return false;
    }
    let known = AUTHORS.get(public_key);
    let Some(key) = known.or_else(|| decode(public_key)) else {
        return false;
    };
    let valid = key.verify(payload, &signature).is_ok();
    if valid && known.is_none() {
        // Only now: whoever wants to push others out must at least sign.
        AUTHORS.put(public_key, key);
    }
    valid
}

/// The key, unless it is one that libsodium refuses.
fn decode(public_key: &[u8; 32]) -> Option<VerifyingKey> {
    let key = VerifyingKey::from_bytes(public_key).ok()?;
    (is_canonical(public_key) && !key.is_weak()).then_some(key)
}

/// Whether the number that is left without the sign, in the last bit, is below 2^255 - 19.
///
/// Of the points that have a second encoding nobody can sign for those that are not of small order,
/// so this is the rule for the rule's sake.
fn is_canonical(point: &[u8; 32]) -> bool {
    point[31] | 0x80 != 0xff || point[1..31].iter().any(|byte| *byte != 0xff) || point[0] < 0xed
}

/// The signature over `payload`; None if `secret` is not a seed with its public key behind it.
fn signed(secret: &[u8; 64], payload: &[u8]) -> Option<Signature> {
    let (seed, public_key) = secret.split_first_chunk::<32>()?;
    let public_key = public_key.try_into().ok()?;
    if let Some(key) = SIGNERS.get(public_key).filter(|key| key.as_bytes() == seed) {
        return Some(key.sign(payload));
    }
    // That the halves belong together costs as much as a signature to find out, so once per key.
    // To sign without knowing would give the secret away.
    let key = SigningKey::from_keypair_bytes(secret).ok()?;
    SIGNERS.put(public_key, key.clone());
    Some(key.sign(payload))
}

/// Whether the signature is this key's over the payload. What has a wrong length is not.
#[pyfunction]
#[pyo3(signature = (public_key, signature, payload, /))]
fn verify(py: Python<'_>, public_key: &[u8], signature: &[u8], payload: &[u8]) -> bool {
    py.detach(|| accepts(public_key, signature, payload))
}

/// The signature over the payload, 64 bytes; the secret is the seed and the public key behind it.
#[pyfunction]
#[pyo3(signature = (secret, payload, /))]
fn sign<'py>(py: Python<'py>, secret: &[u8], payload: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let whole = secret.try_into().map_err(|_| {
        PyValueError::new_err(format!("a secret has 64 bytes, not {}", secret.len()))
    })?;
    let signature = py
        .detach(|| signed(whole, payload))
        .ok_or_else(|| PyValueError::new_err("the halves of the secret do not belong together"))?;
    Ok(PyBytes::new(py, &signature.to_bytes()))
}

/// Ed25519 that accepts what libsodium accepts, with the GIL released.
#[pymodule(gil_used = false)]
mod rumormill_native {
    #[pymodule_export]
    use super::{sign, verify};

    /// What the build asked for; the processor decides how much of it is used.
    #[pymodule_export]
    const BACKEND: &str = if cfg!(curve25519_dalek_backend = "avx512") {
        "avx512"
    } else {
        "default"
    };
}
