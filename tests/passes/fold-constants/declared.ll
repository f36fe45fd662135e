; SPEC spec-constant: OTHER 16 4 0000803f
; SPEC kernel: kernel entry 0 1
; SPEC kernel: other entry 0 1
; RUN: fold-constants,kernel-reachability,simplify,device-check,capabilities
; A constant of another crate gets its default, and the checks have nothing against it.
@OTHER = external global <{ [16 x i8] }>, align 4
define void @kernel(ptr %out) {
  call void @read(ptr %out, ptr @OTHER)
  ret void
}
define void @other(ptr %out) {
  store i32 1, ptr %out
  ret void
}
define internal void @read(ptr %out, ptr %from) {
  %value = load float, ptr %from
  store float %value, ptr %out
  ret void
}
; CHECK: @OTHER = {{.*}}externally_initialized constant [16 x i8] c"\00\00\80?\00{{.*}}\00", align 4
; CHECK: call {{.*}} @read(ptr %out, ptr @OTHER)
; CHECK: kernel kernel: spec-constant=OTHER
; CHECK-NEXT: kernel other:
; CHECK-NEXT: end of violations
