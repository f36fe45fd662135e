; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; EMIT: assembly
; The PTX: each access says which memory it means.
@table = internal constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
@pointers = internal constant [1 x ptr] [ptr @table]
@group = internal addrspace(3) global [64 x float] undef, align 4
define void @kernel(ptr %in, ptr %out, i64 %i) {
  %group = addrspacecast ptr addrspace(3) @group to ptr
  %from = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %from
  %slot = getelementptr float, ptr %group, i64 %i
  store volatile float %v, ptr %slot
  %known = getelementptr float, ptr @table, i64 %i
  %w = load float, ptr %known
  %p.at = getelementptr ptr, ptr @pointers, i64 %i
  %p = load ptr, ptr %p.at
  %u = load float, ptr %p
  %s = fadd float %w, %u
  %to = getelementptr float, ptr %out, i64 %i
  store float %s, ptr %to
  ret void
}
; CHECK: .global .align 4 .b8 table[16]
; CHECK: .global .align 8 .u64 pointers[1] = {generic(table)}
; CHECK: .visible .entry kernel(
; CHECK: ld.global.b32
; CHECK: st.volatile.shared.b32
; CHECK: ld.global.nc.b32
; CHECK: st.global.b32
