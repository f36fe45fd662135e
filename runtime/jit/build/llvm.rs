//! The toolchain's LLVM for the build script, which opens the library at run time, because a build
//! script that is linked to a library would not find it. So it cannot use `schism-llvm`, whose
//! functions are linked: the two share only LLVM's names, and this one has only what the device
//! library needs.
//!
//! Errors in here end the build with a message.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::path::Path;
use std::ptr::null_mut;

use libloading::Library;

/// Opaque handles of LLVM.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        struct $name(*mut c_char);
    )*};
}
handles! {
    /// Everything of one use of LLVM.
    RawContext
    /// Bytes.
    RawBuffer
    /// A module.
    RawModule
    /// A function, a global variable, an instruction.
    RawValue
    /// A place where a value is used.
    RawUse
    /// A type.
    RawType
    /// An attribute of a function.
    RawAttribute
    /// An insertion point for instructions.
    RawBuilder
    /// The instructions of a function that run one after the other.
    RawBlock
    /// How passes run.
    RawOptions
    /// An error, or null.
    RawError
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// LLVM's functions, under their own names.
        #[allow(non_snake_case, reason = "the names are LLVM's")]
        struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// Looks up all of them. `Err` is the name of the first that the library lacks.
            ///
            /// # Safety
            /// The library is the LLVM whose headers have the declarations below, and stays loaded.
            unsafe fn load(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {$(
                    // SAFETY: LLVM's function of that name has this type.
                    $name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }
                        .map_err(|_| stringify!($name))?,
                )*})
            }
        }
    };
}
functions! {
    fn LLVMParseCommandLineOptions(c_int, *const *const c_char, *const c_char);
    fn LLVMContextCreate() -> RawContext;
    fn LLVMContextSetDiscardValueNames(RawContext, c_int);
    fn LLVMCreateMemoryBufferWithMemoryRange(*const u8, usize, *const c_char, c_int) -> RawBuffer;
    fn LLVMGetBufferStart(RawBuffer) -> *const u8;
    fn LLVMGetBufferSize(RawBuffer) -> usize;
    fn LLVMDisposeMemoryBuffer(RawBuffer);
    fn LLVMParseBitcodeInContext2(RawContext, RawBuffer, *mut RawModule) -> c_int;
    fn LLVMWriteBitcodeToMemoryBuffer(RawModule) -> RawBuffer;
    fn LLVMCloneModule(RawModule) -> RawModule;
    fn LLVMDisposeModule(RawModule);
    fn LLVMLinkModules2(RawModule, RawModule) -> c_int;
    fn LLVMSetTarget(RawModule, *const c_char);
    fn LLVMSetDataLayout(RawModule, *const c_char);
    fn LLVMSetModuleIdentifier(RawModule, *const c_char, usize);
    fn LLVMSetSourceFileName(RawModule, *const c_char, usize);
    fn LLVMVerifyModule(RawModule, c_int, *mut *mut c_char) -> c_int;
    fn LLVMGetFirstFunction(RawModule) -> RawValue;
    fn LLVMGetNextFunction(RawValue) -> RawValue;
    fn LLVMGetFirstGlobal(RawModule) -> RawValue;
    fn LLVMGetNextGlobal(RawValue) -> RawValue;
    fn LLVMGetNamedFunction(RawModule, *const c_char) -> RawValue;
    fn LLVMGetValueName2(RawValue, *mut usize) -> *const c_char;
    fn LLVMSetValueName2(RawValue, *const c_char, usize);
    fn LLVMIsDeclaration(RawValue) -> c_int;
    fn LLVMSetLinkage(RawValue, c_int);
    fn LLVMSetPersonalityFn(RawValue, RawValue);
    fn LLVMGlobalGetValueType(RawValue) -> RawType;
    fn LLVMGetFirstUse(RawValue) -> RawUse;
    fn LLVMGetNextUse(RawUse) -> RawUse;
    fn LLVMGetUser(RawUse) -> RawValue;
    fn LLVMIsACallInst(RawValue) -> RawValue;
    fn LLVMIsALoadInst(RawValue) -> RawValue;
    fn LLVMIsAStoreInst(RawValue) -> RawValue;
    fn LLVMSetVolatile(RawValue, c_int);
    fn LLVMGetFirstBasicBlock(RawValue) -> RawBlock;
    fn LLVMGetNextBasicBlock(RawBlock) -> RawBlock;
    fn LLVMGetFirstInstruction(RawBlock) -> RawValue;
    fn LLVMGetNextInstruction(RawValue) -> RawValue;
    fn LLVMGetCalledValue(RawValue) -> RawValue;
    fn LLVMRemoveCallSiteEnumAttribute(RawValue, c_uint, c_uint);
    fn LLVMReplaceAllUsesWith(RawValue, RawValue);
    fn LLVMDeleteFunction(RawValue);
    fn LLVMGetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
    fn LLVMCreateEnumAttribute(RawContext, c_uint, u64) -> RawAttribute;
    fn LLVMAddAttributeAtIndex(RawValue, c_uint, RawAttribute);
    fn LLVMGetEnumAttributeAtIndex(RawValue, c_uint, c_uint) -> RawAttribute;
    fn LLVMRemoveEnumAttributeAtIndex(RawValue, c_uint, c_uint);
    fn LLVMRemoveStringAttributeAtIndex(RawValue, c_uint, *const c_char, c_uint);
    fn LLVMLookupIntrinsicID(*const c_char, usize) -> c_uint;
    fn LLVMGetIntrinsicDeclaration(RawModule, c_uint, *mut RawType, usize) -> RawValue;
    fn LLVMAppendBasicBlockInContext(RawContext, RawValue, *const c_char) -> RawBlock;
    fn LLVMCreateBuilderInContext(RawContext) -> RawBuilder;
    fn LLVMDisposeBuilder(RawBuilder);
    fn LLVMPositionBuilderAtEnd(RawBuilder, RawBlock);
    fn LLVMBuildCall2(RawBuilder, RawType, RawValue, *mut RawValue, c_uint, *const c_char) -> RawValue;
    fn LLVMBuildUnreachable(RawBuilder) -> RawValue;
    fn LLVMCreatePassBuilderOptions() -> RawOptions;
    fn LLVMDisposePassBuilderOptions(RawOptions);
    fn LLVMRunPasses(RawModule, *const c_char, *const c_char, RawOptions) -> RawError;
    fn LLVMGetErrorMessage(RawError) -> *mut c_char;
}

/// The index of a function's own attributes, as opposed to those of its parameters and its result.
const OF_FUNCTION: c_uint = c_uint::MAX;

/// Linkages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// Everyone does.
    External,
    /// It is there for the optimiser, and defined elsewhere.
    Elsewhere,
    /// Everyone does; it may be left out where nothing uses it, and be there in several modules.
    Optional,
    /// Only its module does.
    Internal,
}

impl Linkage {
    /// LLVM's number of it.
    fn number(self) -> c_int {
        match self {
            Self::External => 0,
            Self::Elsewhere => 1,
            Self::Optional => 3,
            Self::Internal => 8,
        }
    }
}

/// LLVM, and everything that is made with it: it stays until the build script ends.
pub struct Llvm {
    api: Api,
    context: RawContext,
}

impl Llvm {
    /// Opens the library, with options in the form of LLVM's own programs. Names of values are not
    /// kept.
    pub fn open(path: &Path, options: &[&CStr]) -> Self {
        // SAFETY: it is the toolchain's LLVM, whose initialisers only fill its own tables.
        let library = unsafe { Library::new(path) }
            .unwrap_or_else(|error| panic!("{} cannot be opened: {error}", path.display()));
        // SAFETY: it is the LLVM that the table is of, and is never unloaded, see below.
        let api = unsafe { Api::load(&library) }
            .unwrap_or_else(|name| panic!("{} has no `{name}`", path.display()));
        std::mem::forget(library);
        let words: Vec<*const c_char> =
            [c"build"].iter().chain(options).map(|word| word.as_ptr()).collect();
        // SAFETY: there are as many texts as the count says, each with a NUL at its end; the
        // context is new.
        let context = unsafe {
            let count = words.len() as c_int;
            (api.LLVMParseCommandLineOptions)(count, words.as_ptr(), c"".as_ptr());
            let context = (api.LLVMContextCreate)();
            (api.LLVMContextSetDiscardValueNames)(context, 1);
            context
        };
        Self { api, context }
    }

    /// Reads bitcode.
    pub fn read(&self, file: &Path) -> Module<'_> {
        let bytes = std::fs::read(file)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        let mut raw = RawModule(null_mut());
        // SAFETY: the buffer borrows `bytes`, which outlives it, and the module keeps no reference
        // to it; `raw` can be written.
        let failed = unsafe {
            let name = c"bitcode".as_ptr();
            let buffer = (self.api.LLVMCreateMemoryBufferWithMemoryRange)(
                bytes.as_ptr(),
                bytes.len(),
                name,
                0,
            );
            let failed = (self.api.LLVMParseBitcodeInContext2)(self.context, buffer, &raw mut raw);
            (self.api.LLVMDisposeMemoryBuffer)(buffer);
            failed
        };
        assert!(failed == 0, "{} is no LLVM bitcode", file.display());
        Module { llvm: self, raw }
    }

    fn attribute_kind(&self, name: &str) -> c_uint {
        // SAFETY: the length is the name's.
        let kind =
            unsafe { (self.api.LLVMGetEnumAttributeKindForName)(name.as_ptr().cast(), name.len()) };
        assert!(kind != 0, "this LLVM has no attribute `{name}`");
        kind
    }

    /// Collects a list of LLVM's.
    fn list(
        &self,
        first: RawValue,
        next: unsafe extern "C" fn(RawValue) -> RawValue,
    ) -> Vec<Value<'_>> {
        let value = |raw: RawValue| (!raw.0.is_null()).then_some(raw);
        // SAFETY: a list's elements are live while it is walked over, and `next` is that of the
        // list.
        std::iter::successors(value(first), |at| value(unsafe { next(*at) }))
            .map(|raw| Value { llvm: self, raw })
            .collect()
    }
}

/// A module.
pub struct Module<'l> {
    llvm: &'l Llvm,
    raw: RawModule,
}

impl<'l> Module<'l> {
    /// Links another module into this one.
    pub fn link(&self, other: Module<'l>) {
        let raw = other.raw;
        std::mem::forget(other);
        // SAFETY: both are live and of one context; LLVM disposes of the second, which is forgotten
        // above.
        let failed = unsafe { (self.llvm.api.LLVMLinkModules2)(self.raw, raw) };
        assert!(failed == 0, "two modules do not fit together");
    }

    /// Makes the module independent of a processor, with this data layout.
    pub fn set_layout(&self, layout: &CStr) {
        // SAFETY: the module is live and the texts, which LLVM copies, end with a NUL.
        unsafe {
            (self.llvm.api.LLVMSetTarget)(self.raw, c"".as_ptr());
            (self.llvm.api.LLVMSetDataLayout)(self.raw, layout.as_ptr());
        }
    }

    /// Sets the module's identifier and source file name.
    pub fn set_name(&self, name: &str) {
        // SAFETY: the module is live, and LLVM copies the text of this length.
        unsafe {
            (self.llvm.api.LLVMSetModuleIdentifier)(self.raw, name.as_ptr().cast(), name.len());
            (self.llvm.api.LLVMSetSourceFileName)(self.raw, name.as_ptr().cast(), name.len());
        }
    }

    /// All functions, declarations too.
    pub fn functions(&self) -> Vec<Value<'l>> {
        let api = &self.llvm.api;
        // SAFETY: the module is live.
        self.llvm.list(unsafe { (api.LLVMGetFirstFunction)(self.raw) }, api.LLVMGetNextFunction)
    }

    /// All global variables.
    pub fn globals(&self) -> Vec<Value<'l>> {
        let api = &self.llvm.api;
        // SAFETY: the module is live.
        self.llvm.list(unsafe { (api.LLVMGetFirstGlobal)(self.raw) }, api.LLVMGetNextGlobal)
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<Value<'l>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is live and the name ends with a NUL.
        let raw = unsafe { (self.llvm.api.LLVMGetNamedFunction)(self.raw, name.as_ptr()) };
        (!raw.0.is_null()).then_some(Value { llvm: self.llvm, raw })
    }

    /// Gives a declared function that does not return a body that traps.
    pub fn define_as_trap(&self, function: Value<'l>) {
        let Llvm { api, context } = self.llvm;
        let name = "llvm.trap";
        // SAFETY: module and function are live, and the second is a declaration of the first. The
        // intrinsic exists in every LLVM and takes nothing.
        unsafe {
            let id = (api.LLVMLookupIntrinsicID)(name.as_ptr().cast(), name.len());
            let trap = (api.LLVMGetIntrinsicDeclaration)(self.raw, id, null_mut(), 0);
            let block = (api.LLVMAppendBasicBlockInContext)(*context, function.raw, c"".as_ptr());
            let builder = (api.LLVMCreateBuilderInContext)(*context);
            (api.LLVMPositionBuilderAtEnd)(builder, block);
            let ty = (api.LLVMGlobalGetValueType)(trap);
            (api.LLVMBuildCall2)(builder, ty, trap, null_mut(), 0, c"".as_ptr());
            (api.LLVMBuildUnreachable)(builder);
            (api.LLVMDisposeBuilder)(builder);
        }
    }

    /// Runs passes given in the syntax of LLVM's `opt -passes=`, for no processor in particular.
    pub fn run_passes(&self, passes: &CStr) {
        let api = &self.llvm.api;
        // SAFETY: the module is live and the text ends with a NUL; the options are ours; an error,
        // if any, is ours, and reading its text takes it.
        unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            let error = (api.LLVMRunPasses)(self.raw, passes.as_ptr(), null_mut(), options);
            (api.LLVMDisposePassBuilderOptions)(options);
            if !error.0.is_null() {
                let message = CStr::from_ptr((api.LLVMGetErrorMessage)(error));
                panic!("LLVM's passes {passes:?}: {}", message.to_string_lossy());
            }
        }
    }

    /// Verifies the module; errors end the build.
    pub fn verify(&self) {
        /// LLVM's number of what to do otherwise: to return that.
        const RETURN: c_int = 2;
        let mut text = null_mut();
        // SAFETY: the module is live, and `text` can be written: it gets a text in either case.
        unsafe {
            let broken = (self.llvm.api.LLVMVerifyModule)(self.raw, RETURN, &raw mut text);
            assert!(broken == 0, "{}", CStr::from_ptr(text).to_string_lossy());
        }
    }

    /// The module as bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        let api = &self.llvm.api;
        // SAFETY: the module is live; the buffer is ours, and its bytes are copied before it is
        // disposed of.
        unsafe {
            let buffer = (api.LLVMWriteBitcodeToMemoryBuffer)(self.raw);
            let (start, len) = ((api.LLVMGetBufferStart)(buffer), (api.LLVMGetBufferSize)(buffer));
            let bytes = std::slice::from_raw_parts(start, len).to_vec();
            (api.LLVMDisposeMemoryBuffer)(buffer);
            bytes
        }
    }
}

impl Clone for Module<'_> {
    fn clone(&self) -> Self {
        // SAFETY: the module is live.
        Self { llvm: self.llvm, raw: unsafe { (self.llvm.api.LLVMCloneModule)(self.raw) } }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module is live and ours.
        unsafe { (self.llvm.api.LLVMDisposeModule)(self.raw) };
    }
}

/// A function or a global variable. It is used only while it is in a module that lives: callers see
/// to that.
#[derive(Clone, Copy)]
pub struct Value<'l> {
    llvm: &'l Llvm,
    raw: RawValue,
}

impl Value<'_> {
    /// Its name.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: the value is live and owns the text of the length that is told, which is copied
        // here.
        let bytes = unsafe {
            let start = (self.llvm.api.LLVMGetValueName2)(self.raw, &raw mut len);
            std::slice::from_raw_parts(start.cast(), len)
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Gives it another name.
    pub fn set_name(self, name: &str) {
        // SAFETY: the value is live, and LLVM copies the text of this length.
        unsafe { (self.llvm.api.LLVMSetValueName2)(self.raw, name.as_ptr().cast(), name.len()) };
        assert!(self.name() == name, "there are two `{name}`");
    }

    /// Whether it is defined elsewhere.
    pub fn is_declaration(self) -> bool {
        // SAFETY: the value is live.
        unsafe { (self.llvm.api.LLVMIsDeclaration)(self.raw) != 0 }
    }

    /// Sets the linkage.
    pub fn set_linkage(self, linkage: Linkage) {
        // SAFETY: the value is live and, as callers see to, a definition.
        unsafe { (self.llvm.api.LLVMSetLinkage)(self.raw, linkage.number()) };
    }

    /// Whether the other function has the same parameters and result.
    pub fn is_like(self, other: Self) -> bool {
        // SAFETY: both are live functions.
        unsafe {
            (self.llvm.api.LLVMGlobalGetValueType)(self.raw)
                == (self.llvm.api.LLVMGlobalGetValueType)(other.raw)
        }
    }

    /// Deletes the function, and replaces its uses by another one, which [is like](Self::is_like)
    /// it.
    pub fn delete_for(self, other: Self) {
        assert!(self.is_like(other) && self.raw != other.raw);
        // SAFETY: both are live functions of one type, and nothing uses the first any more when it
        // is deleted. Callers have no other handle of it.
        unsafe {
            (self.llvm.api.LLVMReplaceAllUsesWith)(self.raw, other.raw);
            (self.llvm.api.LLVMDeleteFunction)(self.raw);
        }
    }

    /// Makes the function's loads and stores plain ones.
    pub fn forget_volatile(self) {
        let api = &self.llvm.api;
        // SAFETY: the function is live, and so are its blocks and instructions; the property is set
        // of loads and stores only.
        unsafe {
            let mut block = (api.LLVMGetFirstBasicBlock)(self.raw);
            while !block.0.is_null() {
                let mut at = (api.LLVMGetFirstInstruction)(block);
                while !at.0.is_null() {
                    let accesses = [(api.LLVMIsALoadInst)(at), (api.LLVMIsAStoreInst)(at)];
                    if accesses.iter().any(|access| !access.0.is_null()) {
                        (api.LLVMSetVolatile)(at, 0);
                    }
                    at = (api.LLVMGetNextInstruction)(at);
                }
                block = (api.LLVMGetNextBasicBlock)(block);
            }
        }
    }

    /// Removes the function's personality.
    pub fn remove_personality(self) {
        // SAFETY: the function is live, and LLVM takes a null for none.
        unsafe { (self.llvm.api.LLVMSetPersonalityFn)(self.raw, RawValue(null_mut())) };
    }

    /// Whether the function has an attribute.
    pub fn has_attribute(self, name: &str) -> bool {
        let kind = self.llvm.attribute_kind(name);
        // SAFETY: the function is live.
        let found =
            unsafe { (self.llvm.api.LLVMGetEnumAttributeAtIndex)(self.raw, OF_FUNCTION, kind) };
        !found.0.is_null()
    }

    /// Adds an attribute that is only a name, or `memory(none)`.
    pub fn add_attribute(self, name: &str) {
        self.add_attribute_with(name, 0);
    }

    /// Adds an attribute with a value.
    pub fn add_attribute_with(self, name: &str, value: u64) {
        let kind = self.llvm.attribute_kind(name);
        // SAFETY: function and context are live, and the attribute is new.
        unsafe {
            let attribute = (self.llvm.api.LLVMCreateEnumAttribute)(self.llvm.context, kind, value);
            (self.llvm.api.LLVMAddAttributeAtIndex)(self.raw, OF_FUNCTION, attribute);
        }
    }

    /// Removes an attribute that LLVM knows.
    pub fn remove_attribute(self, name: &str) {
        let kind = self.llvm.attribute_kind(name);
        // SAFETY: the function is live.
        unsafe { (self.llvm.api.LLVMRemoveEnumAttributeAtIndex)(self.raw, OF_FUNCTION, kind) };
    }

    /// Removes an attribute that LLVM knows from all calls of the function.
    pub fn remove_attribute_of_calls(self, name: &str) {
        let api = &self.llvm.api;
        let kind = self.llvm.attribute_kind(name);
        // SAFETY: the function is live, and so are its uses and their users, which stay; of these,
        // calls of it are changed.
        unsafe {
            let mut at = (api.LLVMGetFirstUse)(self.raw);
            while !at.0.is_null() {
                let user = (api.LLVMGetUser)(at);
                if !(api.LLVMIsACallInst)(user).0.is_null()
                    && (api.LLVMGetCalledValue)(user) == self.raw
                {
                    (api.LLVMRemoveCallSiteEnumAttribute)(user, OF_FUNCTION, kind);
                }
                at = (api.LLVMGetNextUse)(at);
            }
        }
    }

    /// Removes a string attribute.
    pub fn remove_text_attribute(self, name: &str) {
        // SAFETY: the function is live, and the length is the name's.
        unsafe {
            (self.llvm.api.LLVMRemoveStringAttributeAtIndex)(
                self.raw,
                OF_FUNCTION,
                name.as_ptr().cast(),
                name.len() as c_uint,
            );
        }
    }
}
