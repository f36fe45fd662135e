//! What the backend's methods are in every release.
//!
//! A trait's implementation is one block, and each release adds methods to it. So there
//! is a macro for each trait: it takes the methods that differ, and adds those that do not. A macro's
//! paths are resolved where it is used, hence they are written out here.

/// `impl CodegenBackend`: all is the LLVM backend's, but for what the release's own methods say.
macro_rules! codegen_backend {
    ($($differing:tt)*) => {
        impl<P: $crate::rustc::plugin::Plugin> ::rustc_codegen_ssa::traits::CodegenBackend for $crate::rustc::plugin::Backend<P> {
            /// The name of the backend that generates the host's code: crates can see it.
            fn name(&self) -> &'static str {
                self.llvm.name()
            }

            fn init(&self, sess: &::rustc_session::Session) {
                self.llvm.init(sess);
            }

            fn print(
                &self,
                request: &::rustc_session::config::PrintRequest,
                out: &mut String,
                sess: &::rustc_session::Session,
            ) {
                self.llvm.print(request, out, sess);
            }

            fn target_config(
                &self,
                sess: &::rustc_session::Session,
            ) -> ::rustc_codegen_ssa::TargetConfig {
                self.llvm.target_config(sess)
            }

            fn supported_crate_types(
                &self,
                sess: &::rustc_session::Session,
            ) -> Vec<::rustc_session::config::CrateType> {
                self.llvm.supported_crate_types(sess)
            }

            fn print_passes(&self) {
                self.llvm.print_passes();
            }

            fn print_version(&self) {
                self.llvm.print_version();
            }

            fn replaced_intrinsics(&self) -> Vec<::rustc_span::Symbol> {
                self.llvm.replaced_intrinsics()
            }

            fn thin_lto_supported(&self) -> bool {
                self.llvm.thin_lto_supported()
            }

            fn has_zstd(&self) -> bool {
                self.llvm.has_zstd()
            }

            fn metadata_loader(&self) -> Box<::rustc_metadata::creader::MetadataLoaderDyn> {
                self.llvm.metadata_loader()
            }

            fn provide(&self, providers: &mut ::rustc_middle::util::Providers) {
                self.llvm.provide(providers);
                P::provide(providers);
            }

            $($differing)*
        }
    };
}

/// `impl ExtraBackendMethods`: modules come from the LLVM backend, and the plugin changes them.
macro_rules! extra_backend_methods {
    ($($differing:tt)*) => {
        impl<P: $crate::rustc::plugin::Plugin> ::rustc_codegen_ssa::traits::ExtraBackendMethods for $crate::rustc::plugin::Backend<P> {
            fn codegen_allocator<'tcx>(
                &self,
                tcx: ::rustc_middle::ty::TyCtxt<'tcx>,
                module_name: &str,
                methods: &[::rustc_ast::expand::allocator::AllocatorMethod],
            ) -> $crate::rustc::plugin::LlvmModule {
                let mut module = self.llvm.codegen_allocator(tcx, module_name, methods);
                P::patch_allocator(tcx, &mut module);
                module
            }

            fn compile_codegen_unit(
                &self,
                tcx: ::rustc_middle::ty::TyCtxt<'_>,
                cgu_name: ::rustc_span::Symbol,
            ) -> (::rustc_codegen_ssa::ModuleCodegen<$crate::rustc::plugin::LlvmModule>, u64) {
                self.compile_unit(tcx, cgu_name)
            }

            $($differing)*
        }
    };
}

/// `target_machine_factory`, a method of one trait or another.
macro_rules! target_machine_factory {
    () => {
        fn target_machine_factory(
            &self,
            sess: &::rustc_session::Session,
            opt_level: ::rustc_session::config::OptLevel,
            target_features: &[String],
        ) -> ::rustc_codegen_ssa::back::write::TargetMachineFactoryFn<Self> {
            self.llvm.target_machine_factory(sess, opt_level, target_features)
        }
    };
}

/// `supports_parallel`, a method of one trait or another.
macro_rules! supports_parallel {
    () => {
        fn supports_parallel(&self) -> bool {
            self.llvm.supports_parallel()
        }
    };
}

/// `impl WriteBackendMethods`: optimisation and code are the LLVM backend's.
macro_rules! write_backend_methods {
    ($($differing:tt)*) => {
        impl<P: $crate::rustc::plugin::Plugin> ::rustc_codegen_ssa::traits::WriteBackendMethods for $crate::rustc::plugin::Backend<P> {
            type Module = $crate::rustc::plugin::LlvmModule;
            type TargetMachine = <$crate::rustc::plugin::Llvm as ::rustc_codegen_ssa::traits::WriteBackendMethods>::TargetMachine;
            type ModuleBuffer = $crate::rustc::plugin::LlvmBuffer;
            /// The LLVM backend's own shared data; the outer copy only carries names and sizes.
            type ThinData = ::std::sync::Arc<::rustc_codegen_ssa::back::lto::ThinShared<$crate::rustc::plugin::Llvm>>;

            fn optimize(
                cgcx: &::rustc_codegen_ssa::back::write::CodegenContext,
                prof: &::rustc_data_structures::profiling::SelfProfilerRef,
                shared_emitter: &::rustc_codegen_ssa::back::write::SharedEmitter,
                module: &mut ::rustc_codegen_ssa::ModuleCodegen<$crate::rustc::plugin::LlvmModule>,
                config: &::rustc_codegen_ssa::back::write::ModuleConfig,
            ) {
                $crate::rustc::plugin::Llvm::optimize(cgcx, prof, shared_emitter, module, config);
            }

            fn codegen(
                cgcx: &::rustc_codegen_ssa::back::write::CodegenContext,
                prof: &::rustc_data_structures::profiling::SelfProfilerRef,
                shared_emitter: &::rustc_codegen_ssa::back::write::SharedEmitter,
                module: ::rustc_codegen_ssa::ModuleCodegen<$crate::rustc::plugin::LlvmModule>,
                config: &::rustc_codegen_ssa::back::write::ModuleConfig,
            ) -> ::rustc_codegen_ssa::CompiledModule {
                $crate::rustc::plugin::Llvm::codegen(cgcx, prof, shared_emitter, module, config)
            }

            fn serialize_module(
                module: $crate::rustc::plugin::LlvmModule,
                is_thin: bool,
            ) -> $crate::rustc::plugin::LlvmBuffer {
                $crate::rustc::plugin::Llvm::serialize_module(module, is_thin)
            }

            $($differing)*
        }
    };
}

/// A compiled module that is an object and nothing else; the arguments are the fields that the
/// release has besides.
macro_rules! compiled_module {
    ($($field:ident),*) => {
        /// A compiled module that is an object and nothing else.
        pub(crate) fn compiled_module(
            name: String,
            object: ::std::path::PathBuf,
        ) -> ::rustc_codegen_ssa::CompiledModule {
            ::rustc_codegen_ssa::CompiledModule {
                name,
                kind: ::rustc_codegen_ssa::ModuleKind::Regular,
                object: Some(object),
                dwarf_object: None,
                bytecode: None,
                assembly: None,
                llvm_ir: None,
                links_from_incr_cache: Vec::new(),
                $($field: None,)*
            }
        }
    };
}

/// The modules of a fat link for the LLVM backend, whose type differs in the backend's name only.
/// The argument is the field that a serialized module has besides its name.
macro_rules! fat_lto_inputs {
    ($modules:expr, $field:ident) => {
        $modules
            .into_iter()
            .map(|input| match input {
                FatLtoInput::Serialized { name, $field } => {
                    FatLtoInput::Serialized { name, $field }
                }
                FatLtoInput::InMemory(module) => FatLtoInput::InMemory(module),
            })
            .collect()
    };
}

/// What the rest of the crate asks about shims. The release's own `shim` returns an instance's
/// kind of shim, if it is one; the arguments are the names that the release has for these.
macro_rules! shims {
    ($kind:ident { $reify:ident, $fn_ptr:ident }) => {
        /// The function that a shim stands for where its address is taken.
        pub(crate) fn reified(
            instance: ::rustc_middle::ty::Instance<'_>,
        ) -> Option<::rustc_span::def_id::DefId> {
            match shim(instance)? {
                $kind::$reify(def_id, _) => Some(def_id),
                _ => None,
            }
        }

        /// The type of function pointers that a shim calls.
        pub(crate) fn called_pointer(
            instance: ::rustc_middle::ty::Instance<'_>,
        ) -> Option<::rustc_middle::ty::Ty<'_>> {
            match shim(instance)? {
                $kind::$fn_ptr(_, ty) => Some(ty),
                _ => None,
            }
        }

        /// The type that a shim drops; `Some(None)` if there is nothing to do.
        pub(crate) fn dropped(
            instance: ::rustc_middle::ty::Instance<'_>,
        ) -> Option<Option<::rustc_middle::ty::Ty<'_>>> {
            match shim(instance)? {
                $kind::DropGlue(_, ty) => Some(ty),
                _ => None,
            }
        }
    };
}

pub(super) use {
    codegen_backend, compiled_module, extra_backend_methods, fat_lto_inputs, shims,
    supports_parallel, target_machine_factory, write_backend_methods,
};
