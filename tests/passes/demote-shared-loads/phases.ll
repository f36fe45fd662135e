; A tile: stores before a barrier, loads behind it, and a second barrier before the next iteration's stores.
; CHECK: define ptx_kernel void @tile
; CHECK: %a = load i32, ptr addrspace(3) %q, align 4
; CHECK: %b = load i32, ptr addrspace(3) %at, align 4
; CHECK: %last = load atomic i32, ptr addrspace(3) %q syncscope("device") acquire
define ptx_kernel void @tile(ptr addrspace(1) %p, ptr addrspace(3) %q, i64 %i, i32 %n) {
begin:
  %at = getelementptr i32, ptr addrspace(3) %q, i64 %i
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  store atomic i32 %k, ptr addrspace(3) %at syncscope("device") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  %b = load atomic i32, ptr addrspace(3) %at syncscope("device") monotonic, align 4
  %last = load atomic i32, ptr addrspace(3) %q syncscope("device") acquire, align 4
  store i32 %a, ptr addrspace(1) %p, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

; A tree: each iteration's loads and stores have no barrier between them. Behind the loop's barrier nobody stores any more.
; CHECK: define ptx_kernel void @tree
; CHECK: %a = load atomic i32
; CHECK: %b = load i32
define ptx_kernel void @tree(ptr addrspace(3) %q, i64 %i, i32 %n, ptr addrspace(1) %p) {
begin:
  %at = getelementptr i32, ptr addrspace(3) %q, i64 %i
  br label %loop
loop:
  %k = phi i32 [ %n, %begin ], [ %half, %loop ]
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store atomic i32 %a, ptr addrspace(3) %at syncscope("device") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %half = lshr i32 %k, 1
  %more = icmp ne i32 %half, 0
  br i1 %more, label %loop, label %done
done:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %b = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(1) %p, align 4
  ret void
}

; What may store to the group's memory through an address of any memory, and by an operation of LLVM's.
; CHECK: define ptx_kernel void @any
; CHECK: %a = load atomic i32
; CHECK: %b = load atomic i32
; CHECK: %c = load i32
define ptx_kernel void @any(ptr addrspace(3) %q, ptr %any, ptr addrspace(1) %p) {
begin:
  %own = alloca i32, align 4
  %part = getelementptr i8, ptr %own, i64 0
  store i32 1, ptr %any, align 4
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store i32 %a, ptr addrspace(1) %p, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %b = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store i32 %b, ptr addrspace(1) %p, align 4
  call void @llvm.memset.p3.i64(ptr addrspace(3) %q, i8 0, i64 4, i1 false)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %b, ptr %part, align 4
  %c = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store i32 %c, ptr addrspace(1) %p, align 4
  ret void
}

; A panic stores elsewhere; another function may do anything.
; CHECK: define ptx_kernel void @panics
; CHECK: %a = load i32
define ptx_kernel void @panics(ptr addrspace(3) %q, ptr addrspace(1) %p, i1 %go, ptr %record) {
begin:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %go, label %more, label %panic
more:
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store i32 %a, ptr addrspace(1) %p, align 4
  ret void
panic:
  call void @__schism_panic_site.0(ptr %record)
  unreachable
}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.memset.p3.i64(ptr addrspace(3), i8, i64, i1)
declare void @__schism_panic_site.0(ptr)
declare void @other()
