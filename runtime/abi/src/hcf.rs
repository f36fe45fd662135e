//! Converts a kernel's description in a container to the form of stage 2's interface.

use schism_hcf::{Parameter, ParameterKind};

use crate::{PARAM_BYTES, PARAM_FLOAT, PARAM_INTEGER, PARAM_POINTER, Param};

impl From<&Parameter> for Param {
    fn from(parameter: &Parameter) -> Self {
        Self {
            offset: parameter.offset,
            size: parameter.size,
            align: parameter.align,
            kind: match parameter.kind {
                ParameterKind::Integer => PARAM_INTEGER,
                ParameterKind::Float => PARAM_FLOAT,
                ParameterKind::Pointer => PARAM_POINTER,
                ParameterKind::Bytes => PARAM_BYTES,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::PTX_PROCESSORS;

    #[test]
    fn targets_of_containers_are_the_processors_that_there_is_code_for() {
        assert_eq!(PTX_PROCESSORS.map(|(name, _)| name), schism_hcf::PROCESSORS);
    }
}
