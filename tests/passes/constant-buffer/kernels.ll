; SPEC spec-constant: FLAG 16 1 01
; SPEC spec-constant: SCALE 32 8 000000000000f03f
; SPEC spec-constant: TILE 32 4 10000000
; SPEC kernel: reads entry 0 1
; SPEC kernel: does_not entry 0 1
; SPEC kernel: through entry 0 1
; Kernels that read constants take the buffer, as do the functions on the way; each constant has its offset.
@FLAG = externally_initialized constant [16 x i8] zeroinitializer, align 1
@SCALE = externally_initialized constant [32 x i8] zeroinitializer, align 8
@TILE = externally_initialized constant [32 x i8] zeroinitializer, align 4
define void @reads(ptr %out) {
  %tile = load i32, ptr @TILE
  %scale = load double, ptr @SCALE
  store i32 %tile, ptr %out
  store double %scale, ptr %out
  ret void
}
define void @does_not(ptr %out) {
  call void @helper(ptr %out)
  ret void
}
define void @through(ptr %out) {
  call void @helper(ptr %out)
  %flag = call i8 @flag(i8 1)
  store i8 %flag, ptr %out
  ret void
}
define internal i8 @flag(i8 %x) {
  %flag = load i8, ptr @FLAG
  %again = call i8 @flag(i8 %flag)
  ret i8 %again
}
define internal void @helper(ptr %out) {
  store i32 1, ptr %out
  ret void
}
; CHECK-NOT: externally_initialized
; CHECK: define void @does_not(ptr %out) {
; CHECK: define internal void @helper(ptr %out) {
; CHECK: define void @reads(ptr %out, ptr noalias nonnull readonly align 8 dereferenceable(20) %constants) {
; CHECK-NEXT: %TILE = getelementptr inbounds i8, ptr %constants, i64 16
; CHECK-NEXT: %SCALE = getelementptr inbounds i8, ptr %constants, i64 8
; CHECK-NEXT: %tile = load i32, ptr %TILE
; CHECK-NEXT: %scale = load double, ptr %SCALE
; CHECK: define void @through(ptr %out, ptr noalias nonnull readonly align 8 dereferenceable(20) %constants) {
; CHECK-NEXT: call void @helper(ptr %out)
; CHECK-NEXT: %flag = call i8 @flag(i8 1, ptr %constants)
; CHECK: define internal i8 @flag(i8 %x, ptr %constants) {
; CHECK-NEXT: %FLAG = getelementptr inbounds i8, ptr %constants, i64 0
; CHECK-NEXT: %flag = load i8, ptr %FLAG
; CHECK-NEXT: %again = call i8 @flag(i8 %flag, ptr %constants)
; CHECK-NOT: schism.constants
; CHECK-NOT: define
