; A kernel with two functions of C, and one that is LLVM's own.
define void @maths(ptr %out, float %x) {
  %sine = call float @sinf(float %x)
  %power = call float @llvm.exp.f32(float %sine)
  %tangent = call float @tanf(float %power)
  store float %tangent, ptr %out
  ret void
}
declare float @sinf(float)
declare float @tanf(float)
declare float @llvm.exp.f32(float)
