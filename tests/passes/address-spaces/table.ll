; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; Initialisers that point at other globals, at themselves and at functions. What is loaded from a table is generic.
@one = internal constant i32 1
@table = internal constant [3 x ptr] [ptr @one, ptr getelementptr (i8, ptr @table, i64 8), ptr @function]
@state = internal global ptr @state
@ring = internal constant { ptr, i32 } { ptr @ring, i32 7 }, align 16
define void @kernel(i64 %i, ptr %out) {
  %at = getelementptr ptr, ptr @table, i64 %i
  %p = load ptr, ptr %at
  %v = load volatile i32, ptr %p
  store ptr %p, ptr @state
  %r = getelementptr i8, ptr @ring, i64 %i
  store ptr %r, ptr %out
  ret void
}
define internal void @function() {
  ret void
}
; CHECK: @one = internal addrspace(1) constant i32 1
; CHECK: @table = internal addrspace(1) constant [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @one to ptr), ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 8), ptr @function]
; CHECK: @state = internal addrspace(1) global ptr addrspacecast (ptr addrspace(1) @state to ptr)
; CHECK: @ring = internal addrspace(1) constant { ptr, i32 } { ptr addrspacecast (ptr addrspace(1) @ring to ptr), i32 7 }, align 16
; CHECK: define ptx_kernel void @kernel
; CHECK: load ptr, ptr addrspace(1)
; CHECK: load volatile i32, ptr %p
; CHECK: store ptr %p, ptr addrspace(1) @state
