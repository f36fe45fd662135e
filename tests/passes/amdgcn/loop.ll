; Stage 2's passes for AMD's GPUs: address spaces, and exits of the work-item after a panic.
; SPEC kernel: kernel entry 0 1
target triple = "amdgcn-amd-amdhsa"
; CHECK: @schism.shape = private unnamed_addr addrspace(4) constant
; CHECK: define amdgpu_kernel void @kernel(ptr addrspace(1)
; CHECK: load float, ptr addrspace(1)
; CHECK: call void @__schism_panic_shaped.0(

define void @kernel(ptr %from, ptr %to, i64 %len, i64 %n) {
entry:
  %some = icmp ne i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %inside ]
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %from.at = getelementptr inbounds float, ptr %from, i64 %k
  %x = load float, ptr %from.at
  %y = fmul float %x, 2.0
  %to.at = getelementptr inbounds float, ptr %to, i64 %k
  store float %y, ptr %to.at
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
