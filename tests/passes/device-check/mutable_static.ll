; RUN: call-sites,device-check
; SPEC kernel: kernel entry 0 1
; The violation names the way there, and the place where it is known.
@counter = internal global i64 5
define void @kernel() {
  call void @helper()
  ret void
}
define internal void @helper() !dbg !3 {
  store i64 1, ptr @counter, !dbg !6
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernel.rs", directory: "/build")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "helper", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocation(line: 2, column: 3, scope: !3)
; CHECK: 1 use(s) of what no device has
; CHECK-NEXT: violation: MutableStatic("counter"), chain: ["helper", "kernel"], in helper at /build/kernel.rs:2:3
; CHECK-NEXT: end of violations
