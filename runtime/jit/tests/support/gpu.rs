//! Kernels from text, compiled to PTX through the C interface as the runtime would.

use schism_jit_abi::*;

use super::{Source, api, environment, param, settings, words};

/// What to compile, beside the kernel.
#[derive(Clone)]
pub struct Gpu {
    pub source: Source,
    pub target: u32,
    pub arch: String,
    pub isa: u32,
    pub group: [u32; 3],
    pub assumptions: u32,
    pub local_align: u64,
    pub aligned: u64,
    pub narrow: u64,
    pub libdevice: Vec<u8>,
}

/// A kernel as PTX.
#[derive(Debug)]
pub struct Ptx {
    pub text: String,
    pub entry: String,
    pub flags: u32,
    pub addresses: Vec<u64>,
}

/// A kernel of `panics.ll`.
pub fn panics(kernel: &str) -> Source {
    let params = words(&[PARAM_POINTER, PARAM_INTEGER]);
    Source::new(include_str!("../kernels/panics.ll"), kernel, params)
}

/// Kernels of `panics.ll`.
pub const PANICS: [&str; 12] = [
    "inlined",
    "placeless",
    "recursive",
    "by_pointer",
    "itself",
    "always",
    "never",
    "formatted",
    "counts",
    "several",
    "shown_text",
    "shown_number",
];

/// A kernel of `gpu.ll`, of a pointer or so many bytes, a pointer, and eight bytes or four.
pub fn subject(kernel: &str) -> Source {
    let (size, kind) = match kernel {
        "bytes" => (24, PARAM_BYTES),
        "large" => (6000, PARAM_BYTES),
        _ => (8, PARAM_POINTER),
    };
    let last = if kernel == "floats" {
        param(size + 8, 4, PARAM_FLOAT)
    } else {
        param(size + 8, 8, PARAM_INTEGER)
    };
    let params = vec![param(0, size, kind), param(size, 8, PARAM_POINTER), last];
    Source::new(include_str!("../kernels/gpu.ll"), kernel, params)
}

/// Those without a large closure.
pub const SUBJECTS: [&str; 17] = [
    "private",
    "atomics",
    "memory",
    "integers",
    "floats",
    "tables",
    "ends",
    "bytes",
    "group",
    "scopes",
    "updates",
    "sub_group",
    "reductions",
    "clocks",
    "pauses",
    "prints",
    "iterates",
];

impl Gpu {
    pub fn new(source: Source) -> Self {
        Self {
            source,
            target: TARGET_PTX,
            arch: "sm_80".to_owned(),
            isa: 0,
            group: [0; 3],
            assumptions: 0,
            local_align: 0,
            aligned: 0,
            narrow: 0,
            libdevice: Vec::new(),
        }
    }

    pub fn arch(mut self, arch: &str) -> Self {
        self.arch = arch.to_owned();
        self
    }

    pub fn isa(mut self, isa: u32) -> Self {
        self.isa = isa;
        self
    }

    pub fn group(mut self, group: [u32; 3]) -> Self {
        self.group = group;
        self
    }

    pub fn assumptions(mut self, assumptions: u32) -> Self {
        self.assumptions = assumptions;
        self
    }

    pub fn aligned(mut self, pointers: u64) -> Self {
        self.aligned = pointers;
        self
    }

    pub fn narrow(mut self, integers: u64) -> Self {
        self.narrow = integers;
        self
    }

    pub fn libdevice(mut self, bitcode: &[u8]) -> Self {
        self.libdevice = bitcode.to_vec();
        self
    }

    pub fn value(mut self, param: u32, bytes: &[u8]) -> Self {
        self.source = self.source.value(param, bytes);
        self
    }

    /// Compiles, and gives what the library filled, to be released, or the code and the text of the
    /// error.
    pub fn request(&self) -> Result<GpuKernel, (u32, String)> {
        let Source { image, kernel, params, .. } = &self.source;
        let constants: Vec<Constant> = self
            .source
            .constants
            .iter()
            .map(|(symbol, value)| Constant {
                symbol: Bytes::new(symbol.as_bytes()),
                value: Bytes::new(value),
            })
            .collect();
        let values = self.source.known_values();
        let variables = environment();
        let settings = settings(&variables);
        let common = KernelRequest {
            image: Bytes::new(image),
            kernel: Bytes::new(kernel.as_bytes()),
            params: params.as_ptr(),
            params_len: params.len(),
            closure_size: self.source.closure_size,
            closure_align: self.source.closure_align,
            dimensions: self.source.dimensions,
            flags: self.source.flags,
            constants: constants.as_ptr(),
            constants_len: constants.len(),
            values: values.as_ptr(),
            values_len: values.len(),
            links: std::ptr::null(),
            links_len: 0,
            group: self.group,
            settings: settings.as_ptr(),
            settings_len: settings.len(),
        };
        let request = GpuRequest {
            common,
            target: self.target,
            isa: self.isa,
            arch: Bytes::new(self.arch.as_bytes()),
            assumptions: self.assumptions,
            local_align: self.local_align,
            aligned: self.aligned,
            narrow: self.narrow,
            libdevice: Bytes::new(&self.libdevice),
        };
        let mut out = std::mem::MaybeUninit::<GpuKernel>::uninit();
        let mut error = Text::EMPTY;
        // SAFETY: the request's parts live in `self` and above; `out` and `error` are ours.
        let code = unsafe { (api().compile_gpu)(&request, out.as_mut_ptr(), &mut error) };
        if code != OK {
            // SAFETY: the text came from the library and is freed once, after the copy.
            let text = unsafe {
                let text = String::from_utf8(error.as_slice().to_vec()).expect("errors are UTF-8");
                (api().free_text)(error);
                text
            };
            assert!(!text.is_empty(), "error {code} has no text");
            return Err((code, text));
        }
        // SAFETY: on success the library filled it.
        Ok(unsafe { out.assume_init() })
    }

    /// Compiles, and gives the PTX or the code and the text of the error.
    pub fn compile(&self) -> Result<Ptx, (u32, String)> {
        let kernel = self.request()?;
        // SAFETY: both texts and the addresses live until the kernel is released; the texts end with a
        // NUL.
        unsafe {
            let text = |bytes: Bytes| {
                assert_eq!(*bytes.ptr.add(bytes.len), 0);
                String::from_utf8(bytes.as_slice().to_vec()).expect("PTX is text")
            };
            let addresses = std::slice::from_raw_parts(kernel.addresses, kernel.addresses_len);
            let (text, entry) = (text(kernel.code), text(kernel.entry));
            let ptx = Ptx { text, entry, flags: kernel.flags, addresses: addresses.to_vec() };
            (api().release_gpu)(kernel.handle);
            Ok(ptx)
        }
    }

    /// Compiles a kernel that must be good.
    pub fn build(&self) -> Ptx {
        self.compile().unwrap_or_else(|(code, text)| panic!("error {code}: {text}"))
    }

    /// The code and the text of the error that compiling must end in.
    pub fn error(&self) -> (u32, String) {
        match self.compile() {
            Ok(_) => panic!("`{}` compiled", self.source.kernel),
            Err(error) => error,
        }
    }
}

impl Ptx {
    /// The types of the entry's parameters, such as `.u64 .ptr .global .align 4`.
    pub fn parameters(&self) -> Vec<String> {
        let after = self.text.split_once(&format!(".entry {}(", self.entry)).expect("an entry").1;
        let list = after.split_once(')').expect("an end of the parameters").0;
        list.lines()
            .filter_map(|line| line.trim().strip_prefix(".param "))
            .map(|line| line.rsplit_once(' ').expect("a type and a name").0.to_owned())
            .collect()
    }

    /// How many lines have all these words.
    pub fn count(&self, words: &[&str]) -> usize {
        self.text.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    }
}
