; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; A pointer that goes round a loop.
define void @kernel(ptr %begin, ptr %end) {
  %none = icmp eq ptr %begin, %end
  br i1 %none, label %done, label %loop
loop:
  %p = phi ptr [ %begin, %0 ], [ %next, %other ]
  %v = load i32, ptr %p
  %odd = trunc i32 %v to i1
  br i1 %odd, label %change, label %other
change:
  store i32 0, ptr %p
  br label %other
other:
  %q = phi ptr [ %p, %loop ], [ %p, %change ]
  %next = getelementptr i8, ptr %q, i64 4
  %more = icmp ne ptr %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK: icmp eq ptr addrspace(1) %begin, %end
; CHECK: phi ptr addrspace(1) [ %begin,
; CHECK: load i32, ptr addrspace(1)
; CHECK: store i32 0, ptr addrspace(1)
; CHECK: icmp ne ptr addrspace(1)
; CHECK-NOT: addrspacecast
; CHECK: ret void
