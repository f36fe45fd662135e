; y[i] = a * x[i] + y[i], as an unoptimising compiler writes it: everything through memory, the element in its own function.

define internal void @element(ptr %y, ptr %x, float %a, i64 %i) {
start:
  %product = alloca float, align 4
  %x.at = getelementptr inbounds float, ptr %x, i64 %i
  %x.value = load float, ptr %x.at, align 4
  %scaled = fmul float %a, %x.value
  store float %scaled, ptr %product, align 4
  %y.at = getelementptr inbounds float, ptr %y, i64 %i
  %y.value = load float, ptr %y.at, align 4
  %again = load float, ptr %product, align 4
  %sum = fadd float %again, %y.value
  store float %sum, ptr %y.at, align 4
  ret void
}

; The views may overlap as far as types tell.
define void @saxpy(ptr align 4 %y, ptr align 4 %x, float %a) {
start:
  %a.slot = alloca float, align 4
  store float %a, ptr %a.slot, align 4
  %i = call i64 @__schism_global_id_x()
  %a.again = load float, ptr %a.slot, align 4
  call void @element(ptr %y, ptr %x, float %a.again, i64 %i)
  ret void
}

; x is a captured `&[f32]`.
define void @saxpy_slice(ptr align 4 %y, ptr noalias readonly align 4 %x, float %a) {
start:
  %i = call i64 @__schism_global_id_x()
  call void @element(ptr %y, ptr %x, float %a, i64 %i)
  ret void
}
