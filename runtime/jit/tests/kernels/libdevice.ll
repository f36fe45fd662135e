; A library as NVIDIA's is one, with two functions that give something else.
@.str = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\00"
@unused = internal constant [4 x i32] [i32 77, i32 77, i32 77, i32 77]
declare i32 @__nvvm_reflect(ptr)
define float @__nv_sinf(float %x) alwaysinline {
  %ftz = call i32 @__nvvm_reflect(ptr @.str)
  %is = icmp ne i32 %ftz, 0
  br i1 %is, label %flush, label %keep
flush:
  ret float 111.0
keep:
  %y = call float @five_times(float %x)
  ret float %y
}
define float @__nv_expf(float %x) {
  %y = fadd float %x, 9.0
  ret float %y
}
define internal float @five_times(float %x) {
  %y = fmul float %x, 5.0
  ret float %y
}
define float @__nv_cosf(double %x) {
  ret float 1.0
}
define float @__nv_sqrtf(float %x) {
  ret float 1.0
}
