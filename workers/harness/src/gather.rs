//! Many requests as one tensor, and one tensor as many answers, for models whose first dimension is the batch.
//!
//! The supervisor lays the rows of one input of all requests side by side, so that joining them is a matter of saying
//! so. Outputs are split the same way: each request is told its part of one allocation. Nothing is copied in either
//! direction, unless the supervisor could not lay the rows so. Deliberately not here: ragged batches, where the other
//! dimensions differ.

use crate::{
    batch::{Batch, elements_len, write_elements},
    error::WorkerError,
    request::Request,
    tensors::{InputTensor, Label, OutputBuffer},
};
use nereid_ipc::{DataType, arena::InputView, datatype::element_count, elements};

/// One input of all requests of a batch, one after the other.
#[derive(Debug)]
pub struct Joined {
    datatype: DataType,
    shape: Vec<i64>,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    InPlace(InputView),
    Gathered(Vec<u8>),
}

impl Joined {
    /// The element type.
    #[must_use]
    pub fn datatype(&self) -> DataType {
        self.datatype
    }

    /// The shape; the first dimension counts the rows of all requests.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The bytes of all rows.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.rows {
            Rows::InPlace(view) => view.as_slice(),
            Rows::Gathered(copy) => copy,
        }
    }

    /// Whether nothing was copied.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        matches!(self.rows, Rows::InPlace(_))
    }

    /// A writable pointer to the bytes, for frameworks that ask for one though they only read.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        match &mut self.rows {
            Rows::InPlace(view) => view.ptr(),
            Rows::Gathered(copy) => copy.as_mut_ptr(),
        }
    }
}

impl Batch<'_> {
    /// One input of all requests as one tensor.
    pub fn joined_input(&self, name: &str) -> Result<Joined, WorkerError> {
        join(self.requests(), name)
    }

    /// One output of all requests: the bytes to write, for a type with a fixed size. The first dimension counts the
    /// rows of all requests, in their order. Each request that wants the output and has not failed gets its rows.
    pub fn joined_output(
        &mut self,
        name: &str,
        datatype: DataType,
        shape: &[i64],
    ) -> Result<&mut [u8], WorkerError> {
        let label = Label { name, datatype, shape };
        let length = label.byte_len()?.ok_or_else(|| {
            WorkerError::internal(format!("output '{name}' is BYTES, so its elements have to be given"))
        })?;
        let length = usize::try_from(length).map_err(|_| WorkerError::internal("an output beyond memory"))?;
        let buffer = self.allocate(length)?;
        self.share(label, buffer)
    }

    /// A BYTES output of all requests, from the elements of all rows.
    pub fn joined_output_elements(
        &mut self,
        name: &str,
        shape: &[i64],
        elements: &[impl AsRef<[u8]>],
    ) -> Result<(), WorkerError> {
        let mut buffer = self.allocate(elements_len(elements))?;
        write_elements(buffer.as_mut_slice(), elements)?;
        self.attach_joined(name, (DataType::Bytes, shape), buffer)
    }

    /// Makes a buffer an output of all requests, as [`joined_output`](Self::joined_output) does. The bytes of a BYTES
    /// tensor have to be there already, since they tell where each row begins.
    pub fn attach_joined(
        &mut self,
        name: &str,
        (datatype, shape): (DataType, &[i64]),
        buffer: OutputBuffer,
    ) -> Result<(), WorkerError> {
        let label = Label { name, datatype, shape };
        label.check_len(buffer.as_slice().len() as u64)?;
        self.share(label, buffer).map(drop)
    }

    fn share(&mut self, label: Label<'_>, buffer: OutputBuffer) -> Result<&mut [u8], WorkerError> {
        let rows = self.check_rows(label)?;
        let ends = row_ends(label, buffer.as_slice(), &rows)?;
        let mut begin = 0;
        for (index, (&rows, &end)) in rows.iter().zip(&ends).enumerate() {
            let mut shape = label.shape.to_vec();
            shape[0] = rows;
            let part = Label { shape: &shape, ..label };
            self.add_part(index, buffer.describe(part, begin, end - begin))?;
            begin = end;
        }
        Ok(self.keep(buffer))
    }

    /// The rows of each request, which together have to be the first dimension.
    fn check_rows(&self, label: Label<'_>) -> Result<Vec<i64>, WorkerError> {
        let rows: Vec<_> = self.requests().iter().map(Request::rows).collect();
        let sum = rows.iter().try_fold(0_i64, |sum, &rows| sum.checked_add(rows));
        if label.shape.first().copied() == sum && sum.is_some() {
            return Ok(rows);
        }
        Err(WorkerError::internal(format!(
            "output '{}' of shape {:?} cannot be split among requests of {rows:?} rows: its first dimension is not \
             their sum",
            label.name, label.shape
        )))
    }
}

fn join(requests: &[Request], name: &str) -> Result<Joined, WorkerError> {
    let inputs = requests.iter().map(|request| {
        request.input(name).ok_or_else(|| {
            WorkerError::invalid_argument(format!("request '{}' has no input '{name}'", request.id()))
        })
    });
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let Some((first, following)) = inputs.split_first() else {
        return Err(WorkerError::internal("a batch without requests has no inputs"));
    };
    let shape = joined_shape(first, following)?;
    let rows = match first.view().joined(following.iter().map(|input| input.view())) {
        Some(view) => Rows::InPlace(view),
        None => {
            let mut copy = Vec::with_capacity(inputs.iter().map(|input| input.bytes().len()).sum());
            inputs.iter().for_each(|input| copy.extend_from_slice(input.bytes()));
            Rows::Gathered(copy)
        }
    };
    Ok(Joined { datatype: first.datatype(), shape, rows })
}

fn joined_shape(first: &InputTensor, following: &[&InputTensor]) -> Result<Vec<i64>, WorkerError> {
    let mut shape = first.shape().to_vec();
    for next in following {
        let refuse = || {
            WorkerError::invalid_argument(format!(
                "input '{}' cannot be joined in one batch: {} of shape {:?} and {} of shape {:?}",
                first.name(),
                first.datatype(),
                first.shape(),
                next.datatype(),
                next.shape()
            ))
        };
        let (Some(rows), Some((more, rest))) = (shape.first_mut(), next.shape().split_first()) else {
            return Err(refuse());
        };
        *rows = rows.checked_add(*more).ok_or_else(refuse)?;
        if next.datatype() != first.datatype() || *rest != shape[1..] {
            return Err(refuse());
        }
    }
    Ok(shape)
}

/// Where the bytes of each request end.
fn row_ends(label: Label<'_>, bytes: &[u8], rows: &[i64]) -> Result<Vec<u64>, WorkerError> {
    let per_row = element_count(&label.shape[1..])
        .map_err(|error| WorkerError::internal(format!("output '{}': {error}", label.name)))?;
    // Neither sum can overflow: they are parts of a tensor whose length was computed.
    let counts = rows.iter().map(|&rows| rows.unsigned_abs() * per_row);
    if let Some(size) = label.datatype.byte_size() {
        let mut end = 0;
        return Ok(counts
            .map(|count| {
                end += count * size as u64;
                end
            })
            .collect());
    }
    let bad = |what: String| WorkerError::internal(format!("output '{}': {what}", label.name));
    let mut elements = elements::elements(bytes);
    let mut end = 0;
    let mut ends = Vec::with_capacity(rows.len());
    for count in counts {
        for _ in 0..count {
            let element = elements.next().ok_or_else(|| bad("fewer elements than its shape".to_owned()))?;
            let element = element.map_err(|error| bad(error.to_string()))?;
            end += (elements::PREFIX + element.len()) as u64;
        }
        ends.push(end);
    }
    if end == bytes.len() as u64 { Ok(ends) } else { Err(bad("more elements than its shape".to_owned())) }
}
