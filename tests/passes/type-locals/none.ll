; Accesses of two sizes, an address between two elements, an index of 32 bits that counts rows, and an array
; that a function gets.
; CHECK: %sizes = alloca [16 x i8]
; CHECK: %odd = alloca [16 x i8]
; CHECK: %short = alloca [64 x i8]
; CHECK: %given = alloca [16 x i8]
target datalayout = "e-p:64:64-i64:64-n8:16:32:64-A5"

define void @k(ptr addrspace(1) %to, i64 %j, i32 %i) {
  %sizes = alloca [16 x i8], align 8, addrspace(5)
  %odd = alloca [16 x i8], align 8, addrspace(5)
  %short = alloca [64 x i8], align 8, addrspace(5)
  %given = alloca [16 x i8], align 8, addrspace(5)
  store i64 7, ptr addrspace(5) %sizes, align 8
  %a.at = getelementptr i32, ptr addrspace(5) %sizes, i64 %j
  %a = load i32, ptr addrspace(5) %a.at, align 4
  %b.at = getelementptr i8, ptr addrspace(5) %odd, i64 2
  store i32 %a, ptr addrspace(5) %b.at, align 1
  %b.there = getelementptr i8, ptr addrspace(5) %odd, i64 %j
  %b = load i32, ptr addrspace(5) %b.there, align 1
  store i32 %b, ptr addrspace(5) %short, align 4
  %c.at = getelementptr [4 x i32], ptr addrspace(5) %short, i32 %i
  %c = load i32, ptr addrspace(5) %c.at, align 4
  store i32 %c, ptr addrspace(5) %given, align 4
  call void @f(ptr addrspace(5) %given)
  %d = load i32, ptr addrspace(5) %given, align 4
  store i32 %d, ptr addrspace(1) %to, align 4
  ret void
}

declare void @f(ptr addrspace(5))
