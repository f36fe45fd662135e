; SPEC spec-constant: TABLE 32 2 010002000300
; SPEC spec-constant: UNUSED 32 2 0100
; SPEC kernel: kernel entry 0 1
; RUN: launch-offset,constant-buffer
; An array, an index that is not known, and a variant of the kernel.
@TABLE = externally_initialized constant [32 x i8] zeroinitializer, align 2
define void @kernel(ptr %out) {
  %i = call i64 @__schism_global_offset_x()
  %at = getelementptr inbounds i16, ptr @TABLE, i64 %i
  %element = load i16, ptr %at
  store i16 %element, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: define void @kernel(ptr %out, ptr noalias nonnull readonly align 2 dereferenceable(8) %constants) {
; CHECK: %at = getelementptr inbounds i16, ptr %TABLE, i64 0
; CHECK: define void @kernel_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z, ptr noalias nonnull readonly align 2 dereferenceable(8) %constants) {
; CHECK: %at = getelementptr inbounds i16, ptr %TABLE, i64 %offset.x
