; SPEC kernel: kernel entry 0 1
; The most aligned array comes first, then the larger; odd sizes leave gaps that the alignment asks for; an empty array takes
; nothing; the same tag is the same array.
@A = internal constant i8 0
@B = internal constant i8 0
@C = internal constant i8 0
@D = external global i8
define void @kernel() {
  %a = call ptr @__schism_local_static(ptr @A, i64 7, i64 1)
  %b = call ptr @__schism_local_static(ptr @B, i64 12, i64 4)
  %c = call ptr @__schism_local_static(ptr @C, i64 33, i64 32)
  %d = call ptr @__schism_local_static(ptr @D, i64 0, i64 8)
  %again = call ptr @__schism_local_static(ptr @B, i64 12, i64 4)
  call void @use(ptr %a, ptr %b, ptr %c, ptr %d, ptr %again)
  ret void
}
define internal void @use(ptr %a, ptr %b, ptr %c, ptr %d, ptr %again) {
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
; CHECK: define void @kernel()
; CHECK-NEXT: %memory = call ptr @__schism_local_memory()
; CHECK-NEXT: %1 = getelementptr inbounds i8, ptr %memory, i64 48
; CHECK: %2 = getelementptr inbounds i8, ptr %memory1, i64 36
; CHECK: %3 = getelementptr inbounds i8, ptr %memory2, i64 0
; CHECK: %4 = getelementptr inbounds i8, ptr %memory3, i64 0
; CHECK: %5 = getelementptr inbounds i8, ptr %memory4, i64 36
; CHECK: call void @use(ptr %1, ptr %2, ptr %3, ptr %4, ptr %5)
; CHECK-NOT: __schism_local_static
; CHECK: declare ptr @__schism_local_memory() #0
; CHECK: attributes #0 = { nounwind willreturn memory(none) }
; CHECK: ; kernel kernel: groups with 55 bytes at multiples of 32
