; SPEC kernel: none entry 0 1
; SPEC kernel: double entry 0 1
; SPEC kernel: half entry 0 1
; SPEC kernel: quad entry 0 1
; SPEC kernel: wide entry 0 1
; SPEC kernel: atomic entry 0 1
; SPEC kernel: small_atomic entry 0 1
; SPEC kernel: table entry 0 1
; SPEC kernel: recursive entry 0 1
; SPEC kernel: twice entry 0 1
; What kernels need, also through calls and tables of functions.
@functions = internal constant [1 x ptr] [ptr @with_double]
define void @none(ptr %p, float %a) {
  store float %a, ptr %p
  ret void
}
define void @double(ptr %p) {
  call void @with_double(ptr %p)
  ret void
}
define internal void @with_double(ptr %p) {
  %v = load double, ptr %p
  %w = fadd double %v, 1.0
  store double %w, ptr %p
  ret void
}
define void @half(ptr %p) {
  %v = load <2 x half>, ptr %p
  store <2 x half> %v, ptr %p
  ret void
}
define void @wide(ptr %p, i64 %n) {
  %v = zext i64 %n to i128
  %w = mul i128 %v, %v
  store i128 %w, ptr %p
  ret void
}
define void @atomic(ptr %p) {
  %v = atomicrmw add ptr %p, i64 1 monotonic
  ret void
}
define void @small_atomic(ptr %p) {
  %v = load atomic i32, ptr %p acquire, align 4
  store atomic i32 %v, ptr %p release, align 4
  ret void
}
define void @table(ptr %p, i64 %i) {
  %at = getelementptr ptr, ptr @functions, i64 %i
  %f = load ptr, ptr %at
  call void %f(ptr %p)
  ret void
}
define void @recursive(i32 %n) {
  call void @even(i32 %n)
  ret void
}
define internal void @even(i32 %n) {
  call void @odd(i32 %n)
  ret void
}
define void @quad(ptr %p, double %a) {
  %v = fpext double %a to fp128
  store fp128 %v, ptr %p
  ret void
}
define internal void @odd(i32 %n) {
  call void @even(i32 %n)
  ret void
}
define void @twice(ptr %p) {
  call void @leaf()
  call void @middle()
  ret void
}
define internal void @middle() {
  call void @leaf()
  call void @leaf()
  ret void
}
define internal void @leaf() {
  ret void
}
; CHECK: ; kernel none:
; CHECK-NEXT: ; kernel double: needs fp64
; CHECK-NEXT: ; kernel half: needs fp16
; CHECK-NEXT: ; kernel quad: needs fp128 fp64
; CHECK-NEXT: ; kernel wide: needs int128
; CHECK-NEXT: ; kernel atomic: needs atomic64
; CHECK-NEXT: ; kernel small_atomic:
; CHECK-NEXT: ; kernel table: needs fp64 indirect-calls
; CHECK-NEXT: ; kernel recursive: needs recursion
; CHECK-NEXT: ; kernel twice:
; CHECK-NEXT: end of violations
