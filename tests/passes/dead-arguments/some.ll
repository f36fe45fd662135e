; SPEC kernel: kernel entry 0 1
; SPEC kernel: all entry 0 1
; SPEC kernel: none entry 0 1
; Attributes and names go with the parameters that stay; what is found out says which these are.
define void @kernel(ptr noalias align 4 %out, i64 %len, ptr byval([16 x i8]) align 8 %bytes, i32 %value, ptr byval([8 x i8]) align 8 %unused) #0 {
  %v = load i32, ptr %bytes
  %w = add i32 %v, %value
  store i32 %w, ptr %out
  ret void
}
define void @all(ptr %out) {
  store i32 1, ptr %out
  ret void
}
define void @none(i64 %a, float %b) {
  ret void
}
define internal void @helper(i64 %unused) noinline {
  ret void
}
attributes #0 = { nounwind }
; CHECK: define void @all(ptr %out)
; CHECK: define internal void @helper(i64 %unused)
; CHECK: define void @kernel(ptr noalias align 4 %out, ptr byval([16 x i8]) align 8 %bytes, i32 %value) #{{.*}} {
; CHECK: define void @none() {
; CHECK: ; kernel kernel: passes [0, 2, 3]
; CHECK-NEXT: ; kernel all:
; CHECK-NEXT: ; kernel none: passes []
