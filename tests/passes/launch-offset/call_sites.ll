; SPEC kernel: kernel entry 0 1
; What stands at a call stays there: by-value arguments, conventions, bundles, flags, metadata, results' attributes.
define void @kernel(ptr byval([24 x i8]) align 8 %bytes, ptr %out) {
  %copy = alloca [24 x i8], align 8
  %f = call nnan fastcc float @reader(ptr byval([24 x i8]) align 8 %bytes, ptr nocapture readonly %copy) cold [ "unrelated"(i32 5) ], !unrelated !0
  %g = call noundef i64 @plain(ptr byval([24 x i8]) align 8 %copy) nounwind
  store float %f, ptr %out
  ret void
}
define internal fastcc float @reader(ptr byval([24 x i8]) align 8 %bytes, ptr nocapture %p) memory(read) {
  %x = call i64 @__schism_global_offset_x()
  %at = getelementptr inbounds i8, ptr %bytes, i64 %x
  %f = load float, ptr %at, align 4, !alias.scope !1
  %g = fmul fast float %f, %f
  ret float %g
}
define internal i64 @plain(ptr byval([24 x i8]) align 8 %bytes) {
  %r = load i64, ptr %bytes
  ret i64 %r
}
declare i64 @__schism_global_offset_x()
!0 = !{}
!1 = !{!2}
!2 = distinct !{!2, !3}
!3 = distinct !{!3}
; CHECK: define void @kernel_with_offset(ptr byval([24 x i8]) align 8 %bytes, ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
; CHECK-NEXT: %copy = alloca [24 x i8], align 8
; CHECK-NEXT: %f = call nnan fastcc float @reader_with_offset(ptr byval([24 x i8]) align 8 %bytes, ptr readonly captures(none) %copy, i64 %offset.x, i64 %offset.y, i64 %offset.z) #{{.*}} [ "unrelated"(i32 5) ], !unrelated !{{.*}}
; CHECK-NEXT: %g = call noundef i64 @plain(ptr byval([24 x i8]) align 8 %copy) #
; CHECK-NEXT: store float %f, ptr %out
; CHECK: define internal fastcc float @reader_with_offset(ptr byval([24 x i8]) align 8 %bytes, ptr captures(none) %p, i64 %offset.x, i64 %offset.y, i64 %offset.z) #
; CHECK-NEXT: %at = getelementptr inbounds i8, ptr %bytes, i64 %offset.x
; CHECK-NEXT: %f = load float, ptr %at, align 4, !alias.scope !
; CHECK-NEXT: %g = fmul fast float %f, %f
