//! Requests to send and answers to look at, with their tensors as plain bytes.

use super::{Layout, Rig};
use nereid_ipc::{
    DataType,
    arena::{Lease, align_up},
    elements,
};
use nereid_proto::worker::{
    Failure, Parameter, Request, Response, Tensor, parameter::Value, request::Correlation,
};

/// A request to be sent.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    request: Request,
    inputs: Vec<Output>,
}

impl Ask {
    /// A request without inputs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input.
    #[must_use]
    pub fn input(mut self, name: &str, datatype: DataType, shape: &[i64], bytes: &[u8]) -> Self {
        let (name, shape, bytes) = (name.to_owned(), shape.to_vec(), bytes.to_vec());
        self.inputs.push(Output { name, datatype, shape, bytes });
        self
    }

    /// Adds an input of INT32 elements.
    #[must_use]
    pub fn int32(self, name: &str, shape: &[i64], values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.input(name, DataType::Int32, shape, &bytes)
    }

    /// Adds an input of UINT32 elements.
    #[must_use]
    pub fn uint32(self, name: &str, shape: &[i64], values: &[u32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.input(name, DataType::Uint32, shape, &bytes)
    }

    /// Adds an input of BYTES elements.
    #[must_use]
    pub fn texts(self, name: &str, shape: &[i64], texts: &[&str]) -> Self {
        let mut bytes = Vec::new();
        texts.iter().for_each(|text| elements::push(&mut bytes, text.as_bytes()).expect("a short text"));
        self.input(name, DataType::Bytes, shape, &bytes)
    }

    /// Sets the client's id.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.request.id);
        self
    }

    /// Makes it part of a sequence; flags as in the protocol.
    #[must_use]
    pub fn sequence(mut self, number: u64, flags: u32) -> Self {
        self.request.correlation = Some(Correlation::CorrelationNumber(number));
        self.request.flags = flags;
        self
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: Value) -> Self {
        self.request.parameters.push(Parameter { name: name.to_owned(), value: Some(value) });
        self
    }

    /// Adds a parameter that is a text.
    #[must_use]
    pub fn text_parameter(self, name: &str, value: &str) -> Self {
        self.parameter(name, Value::StringValue(value.to_owned()))
    }

    /// Asks for an output by name.
    #[must_use]
    pub fn wants(mut self, output: &str) -> Self {
        self.request.requested_outputs.push(output.to_owned());
        self
    }
}

/// A tensor as plain bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub datatype: DataType,
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Output {
    /// As INT32 elements.
    #[must_use]
    pub fn int32(&self) -> Vec<i32> {
        assert_eq!(self.datatype, DataType::Int32);
        self.bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()
    }

    /// As UINT32 elements.
    #[must_use]
    pub fn uint32(&self) -> Vec<u32> {
        assert_eq!(self.datatype, DataType::Uint32);
        self.bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// As texts.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        assert_eq!(self.datatype, DataType::Bytes);
        let texts = elements::elements(&self.bytes).map(|element| element.expect("whole elements"));
        texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }
}

/// A response, with its outputs copied out of shared memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Whose answer it is.
    pub ticket: u64,
    /// Copies.
    pub outputs: Vec<Output>,
    /// Where the outputs lie.
    pub tensors: Vec<Tensor>,
    /// Instead of outputs.
    pub error: Option<Failure>,
    /// The response's parameters.
    pub parameters: Vec<Parameter>,
    /// Whether it is the last one.
    pub last: bool,
}

impl Answer {
    /// The output of that name.
    #[must_use]
    pub fn output(&self, name: &str) -> &Output {
        let found = self.outputs.iter().find(|output| output.name == name);
        found.unwrap_or_else(|| panic!("no output '{name}' in {self:?}"))
    }

    /// The error's text.
    #[must_use]
    pub fn error(&self) -> &str {
        assert!(self.outputs.is_empty(), "both an error and outputs: {self:?}");
        self.error.as_ref().map_or_else(|| panic!("no error in {self:?}"), |error| error.message.as_str())
    }
}

impl Rig {
    /// Writes the inputs to memory that the worker knows.
    pub(super) fn lay_out(
        &mut self,
        asks: Vec<Ask>,
        tickets: &[u64],
        layout: Layout,
    ) -> (Vec<Request>, Vec<Lease>) {
        let mut places: Vec<(usize, usize)> = asks
            .iter()
            .enumerate()
            .flat_map(|(ask, parts)| (0..parts.inputs.len()).map(move |input| (ask, input)))
            .collect();
        if layout == Layout::Adjacent {
            // The sort is stable, so requests keep their order.
            places.sort_by_key(|&(ask, input)| asks[ask].inputs[input].name.clone());
        }
        let (mut asks, mut leases) = (asks, Vec::new());
        for (ask, &ticket) in asks.iter_mut().zip(tickets) {
            ask.request.ticket = ticket;
            ask.request.inputs = vec![Tensor::default(); ask.inputs.len()];
        }
        let mut rest = places.as_slice();
        while let Some(&(ask, input)) = rest.first() {
            let name = &asks[ask].inputs[input].name;
            let same = match layout {
                Layout::Adjacent => {
                    rest.iter().take_while(|&&(ask, input)| asks[ask].inputs[input].name == *name).count()
                }
                Layout::Apart => 1,
            };
            let (group, others) = rest.split_at(same);
            leases.push(self.place(&mut asks, group));
            rest = others;
        }
        (asks.into_iter().map(|ask| ask.request).collect(), leases)
    }

    fn place(&mut self, asks: &mut [Ask], group: &[(usize, usize)]) -> Lease {
        let length: usize = group.iter().map(|&(ask, input)| asks[ask].inputs[input].bytes.len()).sum();
        let (mut lease, new) = self.inputs.lease(length as u64).expect("room for inputs");
        assert_eq!(align_up(lease.offset()), Some(lease.offset()));
        if let Some(segment) = new {
            self.announce(segment);
        }
        let mut begin = 0;
        for &(ask, input) in group {
            let ask = &mut asks[ask];
            let tensor = &ask.inputs[input];
            lease.write_at(begin, &tensor.bytes).expect("room in the lease");
            ask.request.inputs[input] = Tensor {
                name: tensor.name.clone(),
                data_type: tensor.datatype.number(),
                shape: tensor.shape.clone(),
                segment: lease.segment(),
                offset: lease.offset() + begin as u64,
                length: tensor.bytes.len() as u64,
                slot: 0,
            };
            begin += tensor.bytes.len();
        }
        lease
    }

    /// Copies an answer out and gives its memory back with the next batch.
    pub(super) fn read(&mut self, response: Response) -> Answer {
        let outputs = response.outputs.iter().map(|tensor| {
            let view = self.outputs.view(tensor).expect("an honest descriptor");
            let bytes = view.copy();
            Output { name: view.name, datatype: view.datatype, shape: view.shape, bytes }
        });
        let outputs = outputs.collect();
        for tensor in &response.outputs {
            if !self.released.contains(&tensor.slot) {
                self.released.push(tensor.slot);
            }
        }
        Answer {
            ticket: response.ticket,
            outputs,
            tensors: response.outputs,
            error: response.error,
            parameters: response.parameters,
            last: response.r#final,
        }
    }
}
