; SPEC kernel: kernel entry 0 1
; Places in the source survive in copies, which have no description of their own.
define void @kernel(ptr %out) !dbg !4 {
  %x = call i64 @__schism_global_offset_x(), !dbg !7
  call void @work(i64 %x), !dbg !8
  ret void, !dbg !9
}
define internal void @work(i64 %x) !dbg !5 {
  %y = call i64 @__schism_global_offset_y(), !dbg !10
  %sum = add i64 %x, %y, !dbg !10
  call void @work(i64 %sum), !dbg !10
  ret void, !dbg !10
}
declare i64 @__schism_global_offset_x()
declare i64 @__schism_global_offset_y()
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, producer: "x", isOptimized: false, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.rs", directory: "/d")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !6)
!4 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = distinct !DISubprogram(name: "work", scope: !1, file: !1, line: 9, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!6 = !{}
!7 = !DILocation(line: 2, column: 1, scope: !4)
!8 = !DILocation(line: 3, column: 1, scope: !4)
!9 = !DILocation(line: 4, column: 1, scope: !4)
!10 = !DILocation(line: 10, column: 1, scope: !5)
; CHECK: define void @kernel(ptr %out) !dbg !
; CHECK: define void @kernel_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
; CHECK-NEXT: call void @work_with_offset(i64 %offset.x, i64 %offset.x, i64 %offset.y, i64 %offset.z), !dbg !
; CHECK-NEXT: ret void, !dbg !
; CHECK: define internal void @work_with_offset(
; CHECK-NEXT: %sum = add i64 %x, %offset.y, !dbg !
