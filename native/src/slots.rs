//! A bounded memory of decoded keys.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

type Place<Value> = Option<([u8; 32], Value)>;

/// Values under public keys, each in one of a fixed number of places; a newcomer takes the place.
///
/// Which keys share a place is different in every process, so nobody can choose whom to push out.
/// The lock is tried and never waited for: whoever does not get it decodes the key again, and a
/// process that was forked while another thread held it does so for ever, but works.
pub struct Slots<Value> {
    hasher: RandomState,
    places: Mutex<Vec<Place<Value>>>,
}

impl<Value: Clone> Slots<Value> {
    /// So many places, all empty.
    pub fn new(size: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            places: Mutex::new(vec![None; size]),
        }
    }

    /// The value that was put under this key, if it is still there.
    pub fn get(&self, key: &[u8; 32]) -> Option<Value> {
        let places = self.places.try_lock().ok()?;
        match &places[self.place(key, places.len())] {
            Some((owner, value)) if owner == key => Some(value.clone()),
            _ => None,
        }
    }

    /// Keep the value, in place of whatever was there.
    pub fn put(&self, key: &[u8; 32], value: Value) {
        if let Ok(mut places) = self.places.try_lock() {
            let place = self.place(key, places.len());
            places[place] = Some((*key, value));
        }
    }

    fn place(&self, key: &[u8; 32], size: usize) -> usize {
        self.hasher.hash_one(key) as usize % size
    }
}
