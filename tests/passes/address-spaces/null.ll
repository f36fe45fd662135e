; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: kernel entry 0 1
; Generic null in the memory of locals is another bit pattern than zero: it stays a cast of generic null.
define void @kernel(ptr %maybe, ptr %out, i1 %which) {
  %none = icmp eq ptr %maybe, null
  br i1 %none, label %done, label %some
some:
  %v = load i32, ptr %maybe
  store i32 %v, ptr %out
  %local = alloca i32
  store volatile i32 %v, ptr %local
  %either = select i1 %which, ptr %local, ptr null
  %null = icmp eq ptr %either, null
  %bit = zext i1 %null to i32
  store i32 %bit, ptr %out
  br label %done
done:
  ret void
}
; CHECK: %none = icmp eq ptr addrspace(1) %maybe, addrspacecast (ptr null to ptr addrspace(1))
; CHECK: load i32, ptr addrspace(1) %maybe
; CHECK: %local = alloca i32{{.*}}addrspace(5)
; CHECK: %either = select i1 %which, ptr addrspace(5) %local, ptr addrspace(5) addrspacecast (ptr null to ptr addrspace(5))
; CHECK-NEXT: icmp eq ptr addrspace(5) %either, addrspacecast (ptr null to ptr addrspace(5))
; CHECK-NOT: addrspace(5) null
; CHECK: ret void
