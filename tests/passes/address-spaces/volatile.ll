; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: kernel entry 0 1
; Atomic accesses go to the memory that is meant, and stay what they are. Volatile ones are only moved
; where the target has them for each memory.
define void @kernel(ptr %p) {
  %v = load volatile i32, ptr %p
  store volatile i32 %v, ptr %p
  %a = load atomic i32, ptr %p acquire, align 4
  %b = atomicrmw add ptr %p, i32 %a seq_cst
  %c = cmpxchg ptr %p, i32 %b, i32 1 acq_rel monotonic
  fence release
  ret void
}
; CHECK: define amdgpu_kernel void @kernel(ptr addrspace(1)
; CHECK: load volatile i32, ptr %1
; CHECK-NEXT: store volatile i32 %v, ptr %1
; CHECK: load atomic i32, ptr addrspace(1) %p acquire, align 4
; CHECK-NEXT: atomicrmw add ptr addrspace(1) %p, i32 %a seq_cst
; CHECK-NEXT: cmpxchg ptr addrspace(1) %p, i32 %b, i32 1 acq_rel monotonic
; CHECK-NEXT: fence release
