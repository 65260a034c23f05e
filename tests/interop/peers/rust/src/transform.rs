//! What becomes of the data between the application and the wire: nothing, or snappy.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use libp2p::gossipsub::{DataTransform, Message, RawMessage, TopicHash};
use snap::raw::{Decoder, Encoder, decompress_len};

/// Of one message when it is inflated, as in Ethereum's gossip.
const LARGEST: usize = 10 * 1024 * 1024;

/// gossipsub transforms every copy, before it looks for duplicates: so they can be counted here.
#[derive(Clone, Default)]
pub struct CopyCounter(Arc<AtomicU64>);

impl CopyCounter {
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct Transform {
    pub copies: CopyCounter,
    /// In the block format, without frames around it.
    pub snappy: bool,
}

impl DataTransform for Transform {
    fn inbound_transform(&self, raw: RawMessage) -> io::Result<Message> {
        self.copies.0.fetch_add(1, Ordering::Relaxed);
        let data = if self.snappy {
            inflated(&raw.data)?
        } else {
            raw.data
        };
        Ok(Message {
            source: raw.source,
            data,
            sequence_number: raw.sequence_number,
            topic: raw.topic,
        })
    }

    fn outbound_transform(&self, _: &TopicHash, data: Vec<u8>) -> io::Result<Vec<u8>> {
        if !self.snappy {
            return Ok(data);
        }
        Ok(Encoder::new().compress_vec(&data)?)
    }
}

fn inflated(data: &[u8]) -> io::Result<Vec<u8>> {
    if decompress_len(data)? > LARGEST {
        return Err(io::Error::other("inflates to too much"));
    }
    Ok(Decoder::new().decompress_vec(data)?)
}
