//! What the tests share: kernels from text, compiled through the C interface as the runtime would.
#![allow(dead_code, reason = "each test file uses a part of this")]

pub mod amdgcn;
pub mod code_object;
pub mod gpu;
pub mod ptxas;
pub mod spirv;

use std::ffi::{CStr, OsString};
use std::ptr::null_mut;

use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use schism_jit_abi::*;
use schism_loader::Code;
use schism_loader::message::Calls;

/// The header that every kernel file has: the image's target, and the builtins.
const HEADER: &str = include_str!("../kernels/header.ll");

/// The variables of stage 2 that this process has.
pub fn environment() -> Vec<(String, OsString)> {
    let names = variables::STAGE2.iter().map(|variable| variable.name);
    names.filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?))).collect()
}

/// The same, for a request.
fn settings(variables: &[(String, OsString)]) -> Vec<Setting> {
    let settings = variables.iter().map(|(name, value)| Setting {
        name: Bytes::new(name.as_bytes()),
        value: Bytes::new(value.as_encoded_bytes()),
    });
    settings.collect()
}

/// Bitcode of a kernel file (its text, without the header).
pub fn bitcode(text: &str) -> Vec<u8> {
    bitcode_of(&format!("{HEADER}\n{text}"))
}

/// Bitcode of a whole module.
pub fn bitcode_of(text: &str) -> Vec<u8> {
    // SAFETY: a context of this thread's own; every pointer is to a live variable or to what LLVM
    // just made, and all of it is disposed of after the bytes are copied.
    unsafe {
        let context = LLVMContextCreate();
        let source = LLVMCreateMemoryBufferWithMemoryRangeCopy(
            text.as_ptr().cast(),
            text.len(),
            c"kernel".as_ptr(),
        );
        let mut module = null_mut();
        let mut error = null_mut();
        let failed = LLVMParseIRInContext2(context, source, &mut module, &mut error);
        assert!(failed == 0, "{}", CStr::from_ptr(error).to_string_lossy());
        LLVMDisposeMemoryBuffer(source);
        let buffer = LLVMWriteBitcodeToMemoryBuffer(module);
        let bytes = std::slice::from_raw_parts(
            LLVMGetBufferStart(buffer).cast(),
            LLVMGetBufferSize(buffer),
        )
        .to_vec();
        LLVMDisposeMemoryBuffer(buffer);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
        bytes
    }
}

/// The library's table.
pub fn api() -> &'static JitApi {
    // SAFETY: the table lives as long as the library, which is linked to the test.
    unsafe { schism_jit::schism_jit_api(ABI_VERSION).as_ref() }.expect("the version is known")
}

/// A parameter of a closure.
pub fn param(offset: u64, size: u64, kind: u32) -> Param {
    Param { offset, size, align: size.min(8), kind }
}

/// A kernel `many` of so many loops one after the other, each over up to 16 numbers. They make one
/// number of a work-item's id, and panic where it becomes `at`. [`many_loops_on_host`] computes the
/// same.
pub fn many_loops(count: u64) -> String {
    loops(count, false)
}

/// The same, and each iteration of each loop checks that its number, and that of the loop, make
/// less than `at` together.
pub fn many_checked_loops(count: u64) -> String {
    loops(count, true)
}

fn loops(count: u64, checked: bool) -> String {
    let mut text = "@place = private constant i8 0\n\
        define void @many(ptr noalias %out, i64 %at) {\nstart:\n\
          %x = call i64 @__schism_global_id_x()\n\
          %to = getelementptr inbounds i64, ptr %out, i64 %x\n\
          %iterations = and i64 %x, 15\n  br label %loop.0\n"
        .to_owned();
    for number in 0..count {
        let (before, from) = match number {
            0 => ("%x".to_owned(), "start".to_owned()),
            _ => (format!("%s.{}", number - 1), format!("done.{}", number - 1)),
        };
        let (check, end) = match checked {
            false => (String::new(), "iteration"),
            true => (
                format!(
                    "  %sum.{number} = add i64 %k.{number}, {number}
                       %less.{number} = icmp ult i64 %sum.{number}, %at
                       br i1 %less.{number}, label %go.{number}, label %far.{number}
                     far.{number}:
                       call void @__schism_panic(ptr @place, i64 1, ptr null)
                       unreachable
                     go.{number}:\n"
                ),
                "go",
            ),
        };
        text += &format!(
            "loop.{number}:
               %k.{number} = phi i64 [ 0, %{from} ], [ %k.{number}.next, %{end}.{number} ]
               %s.{number} = phi i64 [ {before}, %{from} ], [ %s.{number}.next, %{end}.{number} ]
               %more.{number} = icmp ult i64 %k.{number}, %iterations
               br i1 %more.{number}, label %iteration.{number}, label %done.{number}
             iteration.{number}:
             {check}
               %t.{number} = mul i64 %s.{number}, 31
               %s.{number}.next = add i64 %t.{number}, %k.{number}
               %k.{number}.next = add i64 %k.{number}, 1
               br label %loop.{number}
             done.{number}:\n"
        );
        let next =
            if number + 1 == count { "end".to_owned() } else { format!("loop.{}", number + 1) };
        text += &format!("  br label %{next}\n");
    }
    let last = count - 1;
    text + &format!(
        "end:
           store i64 %s.{last}, ptr %to
           %wrong = icmp eq i64 %s.{last}, %at
           br i1 %wrong, label %bad, label %good
         bad:
           call void @__schism_panic(ptr @place, i64 1, ptr null)
           unreachable
         good:
           %rest = add i64 %s.{last}, 1
           store i64 %rest, ptr %to
           ret void\n}}\n"
    )
}

/// What the loops of [`many_loops`] make of a work-item's id.
pub fn many_loops_on_host(count: u64, x: u64) -> u64 {
    let iteration = |s: u64, k: u64| s.wrapping_mul(31).wrapping_add(k);
    (0..count).fold(x, |s, _| (0..x & 15).fold(s, iteration))
}

/// Parameters of 8 bytes each, one after the other.
pub fn words(kinds: &[u32]) -> Vec<Param> {
    kinds.iter().zip(0..).map(|(&kind, index)| param(8 * index, 8, kind)).collect()
}

/// What to compile, with what most kernels here have.
#[derive(Clone)]
pub struct Source {
    pub image: Vec<u8>,
    pub kernel: String,
    pub params: Vec<Param>,
    pub closure_size: u64,
    pub closure_align: u64,
    pub dimensions: u32,
    pub flags: u32,
    pub constants: Vec<(String, Vec<u8>)>,
    pub cpu: String,
    pub values: Vec<(u32, Vec<u8>)>,
    pub group: [u32; 3],
}

impl Source {
    pub fn new(text: &str, kernel: &str, params: Vec<Param>) -> Self {
        let closure_size = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        Self {
            image: bitcode(text),
            kernel: kernel.to_owned(),
            params,
            closure_size: closure_size.next_multiple_of(8),
            closure_align: 8,
            dimensions: 1,
            flags: 0,
            constants: Vec::new(),
            cpu: String::new(),
            values: Vec::new(),
            group: [0; 3],
        }
    }

    pub fn cpu(mut self, cpu: &str) -> Self {
        self.cpu = cpu.to_owned();
        self
    }

    pub fn flags(mut self, flags: u32) -> Self {
        self.flags = flags;
        self
    }

    pub fn constant(mut self, symbol: &str, value: &[u8]) -> Self {
        self.constants.push((symbol.to_owned(), value.to_vec()));
        self
    }

    /// Work-items of a group.
    pub fn group(mut self, group: [u32; 3]) -> Self {
        self.group = group;
        self
    }

    /// Parameters whose values are known.
    pub fn value(mut self, param: u32, bytes: &[u8]) -> Self {
        self.values.push((param, bytes.to_vec()));
        self
    }

    pub fn known_values(&self) -> Vec<KnownValue> {
        let known = self.values.iter();
        known.map(|(param, bytes)| KnownValue { param: *param, bytes: Bytes::new(bytes) }).collect()
    }

    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = dimensions;
        self
    }

    pub fn align(mut self, align: u64) -> Self {
        self.closure_align = align;
        self
    }

    /// Compiles, and gives the kernel or the code and the text of the error.
    pub fn compile(&self) -> Result<Kernel, (u32, String)> {
        let constants: Vec<Constant> = self
            .constants
            .iter()
            .map(|(symbol, value)| Constant {
                symbol: Bytes::new(symbol.as_bytes()),
                value: Bytes::new(value),
            })
            .collect();
        let values = self.known_values();
        let variables = environment();
        let settings = settings(&variables);
        let common = KernelRequest {
            image: Bytes::new(&self.image),
            kernel: Bytes::new(self.kernel.as_bytes()),
            params: self.params.as_ptr(),
            params_len: self.params.len(),
            closure_size: self.closure_size,
            closure_align: self.closure_align,
            dimensions: self.dimensions,
            flags: self.flags,
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
        let request = CpuRequest { common, cpu: Bytes::new(self.cpu.as_bytes()) };
        let mut out = std::mem::MaybeUninit::uninit();
        let mut error = Text::EMPTY;
        // SAFETY: the request's parts live in `self`; `out` and `error` are ours.
        let code = unsafe { (api().compile_cpu)(&request, out.as_mut_ptr(), &mut error) };
        if code == OK {
            // SAFETY: on success the library filled it.
            let made = unsafe { out.assume_init() };
            // SAFETY: the object is there until it is released, which is after its last use; it was
            // made for this processor.
            let loaded = unsafe {
                // Constants that are open get their values only now.
                let open = self.flags & FLAG_OPEN_CONSTANTS != 0;
                let values = self.constants.iter().map(|(_, value)| value.as_slice());
                let values: Vec<_> = values.enumerate().filter(|_| open).collect();
                let loaded = Code::load_with(
                    made.object.as_slice(),
                    Calls { print, raise: None },
                    &values,
                    None,
                );
                (api().release_cpu)(made.handle);
                loaded
            };
            return match loaded {
                Ok(code) => {
                    let (flags, stack) = (made.flags, made.stack);
                    Ok(Kernel { code, flags, stack, lower_micros: made.lower_micros })
                }
                Err(error) => Err((error.code(), format!("kernel `{}`: {error}", self.kernel))),
            };
        }
        // SAFETY: the text came from the library and is freed once, after the copy.
        let text = unsafe {
            let text = String::from_utf8(error.as_slice().to_vec()).expect("errors are UTF-8");
            (api().free_text)(error);
            text
        };
        assert!(!text.is_empty(), "error {code} has no text");
        Err((code, text))
    }

    /// Compiles a kernel that must be good.
    pub fn build(&self) -> Kernel {
        self.compile().unwrap_or_else(|(code, text)| panic!("error {code}: {text}"))
    }

    /// The code and the text of the error that compiling must end in.
    pub fn error(&self) -> (u32, String) {
        match self.compile() {
            Ok(_) => panic!("`{}` compiled", self.kernel),
            Err(error) => error,
        }
    }
}

/// Where what kernels print goes: nowhere.
unsafe extern "C" fn print(_: *const u8, _: usize) {}

/// A compiled kernel, unloaded at the end.
pub struct Kernel {
    pub code: Code,
    pub flags: u32,
    pub stack: u64,
    pub lower_micros: u64,
}

/// What a panicking kernel said, copied.
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Panic {
    pub message: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub global_id: [usize; 3],
}

impl Kernel {
    /// Runs a chunk.
    ///
    /// # Safety
    /// The closure is what the kernel takes, and its pointers are good for what the kernel does.
    pub unsafe fn run<T>(&self, closure: &T, chunk: &CpuChunk) -> Result<(), Panic> {
        let mut record = PanicRecord::EMPTY;
        // SAFETY: the caller promises a fitting closure; the chunk and the record are live.
        let status = unsafe { self.code.entry()((&raw const *closure).cast(), chunk, &mut record) };
        match status {
            RUN_OK => Ok(()),
            RUN_PANICKED => {
                let text = |bytes: Bytes| {
                    // SAFETY: the text is the kernel's, which is still there.
                    let bytes = unsafe { bytes.as_slice() };
                    String::from_utf8(bytes.to_vec()).expect("UTF-8")
                };
                // SAFETY: the record is this kernel's, and was not copied.
                let message = unsafe { schism_loader::message::take(&mut record) };
                Err(Panic {
                    message,
                    file: text(record.file),
                    line: record.line,
                    column: record.column,
                    global_id: record.global_id,
                })
            }
            other => panic!("a status of {other}"),
        }
    }
}

/// A chunk of a range of up to three dimensions, x first.
pub fn chunk(parts: &[(usize, usize, usize)]) -> CpuChunk {
    // What is not used is not read: nonsense there must do no harm.
    let mut chunk = CpuChunk {
        begin: [77; 3],
        end: [5; 3],
        range: [usize::MAX; 3],
        offset: [99; 3],
        group: std::ptr::dangling(),
    };
    for (index, &(begin, end, range)) in parts.iter().enumerate() {
        chunk.begin[index] = begin;
        chunk.end[index] = end;
        chunk.range[index] = range;
    }
    chunk
}

/// The whole of a range.
pub fn whole(range: &[usize]) -> CpuChunk {
    chunk(&range.iter().map(|&n| (0, n, n)).collect::<Vec<_>>())
}

/// A kernel `k` over `ptr %to, ptr %from, i64 %n`, with these lines, in which `%x` is the
/// work-item's id.
pub fn kernel(declarations: &str, lines: &str) -> Source {
    let text = format!(
        "{declarations}
        define void @k(ptr align 8 %to, ptr noalias readonly align 8 %from, i64 %n) {{
          %x = call i64 @__schism_global_id_x()
          {lines}
          ret void
        }}"
    );
    Source::new(&text, "k", words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]))
}
