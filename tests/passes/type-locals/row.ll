; An array that is bytes for rustc: constant addresses, an index, an index behind another address.
; CHECK: alloca [33 x i32], align 4, addrspace(5)
; CHECK-NOT: getelementptr i8
; CHECK: getelementptr inbounds [33 x i32], ptr addrspace(5) %1, i64 0, i64 1
; CHECK: getelementptr inbounds [33 x i32], ptr addrspace(5) %1, i64 0, i64 %j
; CHECK: {{...}} = add i64 %j, 4
; CHECK: getelementptr [33 x i32], ptr addrspace(5) %1, i64 0, i64 {{...}}
; CHECK: {{...}} = mul i64 %j, 5
; CHECK: getelementptr [33 x i32], ptr addrspace(5) %1, i64 0, i64 {{...}}
target datalayout = "e-p:64:64-i64:64-n8:16:32:64-A5"

define void @k(ptr addrspace(1) %to, i64 %j) {
  %row = alloca [132 x i8], align 4, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %row)
  store i32 7, ptr addrspace(5) %row, align 4
  %one.at = getelementptr inbounds i8, ptr addrspace(5) %row, i64 4
  store i32 1, ptr addrspace(5) %one.at, align 4
  %at = getelementptr inbounds i32, ptr addrspace(5) %row, i64 %j
  %first = load i32, ptr addrspace(5) %at, align 4
  %behind = getelementptr i8, ptr addrspace(5) %at, i64 16
  %second = load i32, ptr addrspace(5) %behind, align 4
  %part = getelementptr [5 x i32], ptr addrspace(5) %row, i64 %j
  %third = load i32, ptr addrspace(5) %part, align 4
  %both = add i32 %first, %second
  %all = add i32 %both, %third
  store i32 %all, ptr addrspace(1) %to, align 4
  ret void
}

declare void @llvm.lifetime.start.p5(ptr addrspace(5))
