//! An Arrow array as its buffers, in Arrow's layout. A buffer that is None is left out, as Arrow allows
//! for the bits of an array without nulls.

use std::borrow::Cow;

pub type Buffer<'a> = Option<Cow<'a, [u8]>>;

pub struct Array<'a> {
    pub length: usize,
    pub nulls: usize,
    pub buffers: Vec<Buffer<'a>>,
    pub children: Vec<Array<'a>>,
}

impl<'a> Array<'a> {
    pub fn new(length: usize, nulls: usize, buffers: Vec<Buffer<'a>>) -> Self {
        Self { length, nulls, buffers, children: Vec::new() }
    }

    pub fn with_children(self, children: Vec<Array<'a>>) -> Self {
        Self { children, ..self }
    }
}
