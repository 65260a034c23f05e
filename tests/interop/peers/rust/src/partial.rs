//! Messages in parts, as rumormill's PartList has them: metadata is a bitmap (bit `i % 8` of byte
//! `i / 8` for part `i`), and parts travel as the bitmap of those that come, then each of them with
//! its length (a varint) before it.

use libp2p::PeerId;
use libp2p::gossipsub::partial_messages::{Metadata, Partial, PartialAction, PartialError};

#[derive(Clone)]
pub struct PartList {
    pub group: Vec<u8>,
    pub parts: Vec<Option<Vec<u8>>>,
}

impl PartList {
    pub fn new(group: Vec<u8>, count: usize) -> Self {
        let parts = vec![None; count];
        Self { group, parts }
    }

    pub fn complete(&self) -> bool {
        self.parts.iter().all(Option::is_some)
    }

    pub fn bitmap(&self) -> Vec<u8> {
        self.bitmap_of(|index| self.parts[index].is_some())
    }

    fn bitmap_of(&self, has: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut bitmap = vec![0; self.parts.len().div_ceil(8)];
        for index in (0..self.parts.len()).filter(|index| has(*index)) {
            bitmap[index / 8] |= 1 << (index % 8);
        }
        bitmap
    }

    /// The parts that are not in the bitmap of a peer, and that bitmap with them.
    fn parts_for(&self, known: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let lacking = |index: usize| self.parts[index].is_some() && !has_bit(known, index);
        let mut body = self.bitmap_of(lacking);
        if body.iter().all(|byte| *byte == 0) {
            return None;
        }
        for (index, part) in self.parts.iter().enumerate() {
            if let (true, Some(part)) = (lacking(index), part) {
                write_length(&mut body, part.len());
                body.extend(part);
            }
        }
        let together = self.bitmap_of(|index| lacking(index) || has_bit(known, index));
        Some((body, together))
    }

    /// Takes what a peer sent; returns the numbers of the parts that were new.
    pub fn take(&mut self, body: &[u8]) -> Result<Vec<usize>, PartialError> {
        let size = self.parts.len().div_ceil(8);
        if body.len() < size {
            return Err(PartialError::InvalidFormat);
        }
        let (bitmap, mut rest) = body.split_at(size);
        let mut new = Vec::new();
        for index in (0..self.parts.len()).filter(|index| has_bit(bitmap, *index)) {
            let length = read_length(&mut rest)?;
            let (part, behind) = rest
                .split_at_checked(length)
                .ok_or(PartialError::InvalidFormat)?;
            rest = behind;
            if self.parts[index].is_none() {
                self.parts[index] = Some(part.to_vec());
                new.push(index);
            }
        }
        Ok(new)
    }
}

impl Partial for PartList {
    fn group_id(&self) -> Vec<u8> {
        self.group.clone()
    }

    fn metadata(&self) -> Box<dyn Metadata> {
        Box::new(Bitmap(self.bitmap()))
    }

    /// Sends nothing to a peer that has not said what it has.
    fn partial_action_from_metadata(
        &self,
        _peer: PeerId,
        metadata: Option<&[u8]>,
    ) -> Result<PartialAction, PartialError> {
        let known = metadata.unwrap_or_default();
        let lacks = |index: usize| self.parts[index].is_none();
        let need = (0..self.parts.len()).any(|index| lacks(index) && has_bit(known, index));
        let send = metadata.and_then(|known| self.parts_for(known));
        let send = send.map(|(body, bitmap)| (body, Box::new(Bitmap(bitmap)) as Box<dyn Metadata>));
        Ok(PartialAction { need, send })
    }
}

#[derive(Debug)]
struct Bitmap(Vec<u8>);

impl Metadata for Bitmap {
    fn as_slice(&self) -> &[u8] {
        &self.0
    }

    fn update(&mut self, data: &[u8]) -> Result<bool, PartialError> {
        if data.len() > self.0.len() {
            return Err(PartialError::OutOfRange);
        }
        let before = self.0.clone();
        for (byte, more) in self.0.iter_mut().zip(data) {
            *byte |= more;
        }
        Ok(self.0 != before)
    }
}

fn has_bit(bitmap: &[u8], index: usize) -> bool {
    let byte = bitmap.get(index / 8).copied().unwrap_or_default();
    byte & (1 << (index % 8)) != 0
}

fn write_length(body: &mut Vec<u8>, mut length: usize) {
    while length >= 128 {
        body.push(length as u8 | 128);
        length >>= 7;
    }
    body.push(length as u8);
}

fn read_length(rest: &mut &[u8]) -> Result<usize, PartialError> {
    let mut length = 0;
    for shift in [0, 7, 14, 21] {
        let (byte, behind) = rest.split_first().ok_or(PartialError::InvalidFormat)?;
        *rest = behind;
        length |= ((byte & 127) as usize) << shift;
        if byte & 128 == 0 {
            return Ok(length);
        }
    }
    Err(PartialError::OutOfRange)
}
