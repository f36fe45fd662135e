; A kernel whose instructions say what lines of the source they are from, and a function that it calls.
define void @lines(ptr %out, float %x) !dbg !4 {
  call void @helper(ptr %out, float %x), !dbg !8
  %next = getelementptr float, ptr %out, i64 1, !dbg !9
  store float %x, ptr %next, !dbg !9
  ret void
}
define internal void @helper(ptr %out, float %x) !dbg !6 {
  store float %x, ptr %out, !dbg !10
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "kernel.rs", directory: "/source")
!2 = !DIFile(filename: "helper.rs", directory: "/source")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "lines", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !7)
!6 = distinct !DISubprogram(name: "helper", file: !2, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!7 = !{}
!8 = !DILocation(line: 2, column: 5, scope: !4)
!9 = !DILocation(line: 3, column: 7, scope: !4)
!10 = !DILocation(line: 11, column: 9, scope: !6)
