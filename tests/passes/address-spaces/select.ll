; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: kernel entry 0 1
; Of two constants the memory is known; of a constant and a local it is not.
@one = internal constant i32 1
@two = internal constant i32 2
define void @kernel(i1 %which, ptr %out) {
  %same = select i1 %which, ptr @one, ptr @two
  %v = load i32, ptr %same
  store i32 %v, ptr %out
  %local = alloca [2 x i32]
  %at = getelementptr i32, ptr %local, i32 %v
  store i32 %v, ptr %at
  %mixed = select i1 %which, ptr @one, ptr %local
  %w = load i32, ptr %mixed
  store i32 %w, ptr %out
  ret void
}
; CHECK: @one = internal addrspace(4) constant i32 1
; CHECK: @two = internal addrspace(4) constant i32 2
; CHECK: select i1 %which, ptr addrspace(4) @one, ptr addrspace(4) @two
; CHECK: load i32, ptr addrspace(4)
; CHECK: %local = alloca [2 x i32]{{.*}}addrspace(5)
; CHECK: store i32 %v, ptr addrspace(5)
; CHECK: %w = load i32, ptr %mixed
