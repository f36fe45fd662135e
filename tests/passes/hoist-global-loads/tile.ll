; The second load comes before the first store, with its address; not before a barrier, nor before a store to the same memory.
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
define void @tile(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(3) %tile, i64 %row) {
  %first = load i32, ptr addrspace(1) %a, align 4
  store atomic i32 %first, ptr addrspace(3) %tile syncscope("device") monotonic, align 4
  %at = getelementptr i32, ptr addrspace(1) %b, i64 %row
  %second = load i32, ptr addrspace(1) %at, align 4
  %next = getelementptr i32, ptr addrspace(3) %tile, i64 32
  store atomic i32 %second, ptr addrspace(3) %next syncscope("device") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 0, ptr addrspace(3) %tile, align 4
  store i32 0, ptr addrspace(1) %a, align 4
  store i32 1, ptr addrspace(3) %next, align 4
  %third = load i32, ptr addrspace(1) %b, align 4
  store atomic i32 %third, ptr addrspace(3) %tile syncscope("device") release, align 4
  %fourth = load i32, ptr addrspace(1) %at, align 4
  store i32 %fourth, ptr addrspace(3) %next, align 4
  %fifth = load volatile i32, ptr addrspace(1) %a, align 4
  store i32 %fifth, ptr addrspace(1) %a, align 4
  ret void
}
; CHECK: %first = load
; CHECK-NEXT: = getelementptr i32, ptr addrspace(1) %b, i64 %row
; CHECK-NEXT: = load i32, ptr addrspace(1)
; CHECK-NEXT: store atomic i32 %first
; CHECK-NEXT: %next = getelementptr
; CHECK-NEXT: store atomic i32
; CHECK-NEXT: call void
; CHECK-NEXT: store i32 0, ptr addrspace(3) %tile
; CHECK-NEXT: store i32 0, ptr addrspace(1) %a
; CHECK-NEXT: = load i32, ptr addrspace(1) %b
; CHECK-NEXT: store i32 1
; CHECK-NEXT: store atomic i32
; CHECK-NEXT: %fourth = load
; CHECK-NEXT: store i32 %fourth
; CHECK-NEXT: %fifth = load volatile
