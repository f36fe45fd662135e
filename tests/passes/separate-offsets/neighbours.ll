; The element above, and those behind.
declare i64 @llvm.spv.thread.id.i64(i32)
define float @above(ptr addrspace(1) %from, i64 %width) {
  %at = call i64 @llvm.spv.thread.id.i64(i32 0)
  %above = sub nsw i64 %at, %width
  %p = getelementptr inbounds float, ptr addrspace(1) %from, i64 %at
  %q = getelementptr inbounds float, ptr addrspace(1) %from, i64 %above
  %a = load float, ptr addrspace(1) %p
  %b = load float, ptr addrspace(1) %q
  %sum = fadd float %a, %b
  ret float %sum
}
define i16 @behind(ptr addrspace(1) %from, i64 %width) {
  %at = call i64 @llvm.spv.thread.id.i64(i32 0)
  %twice = shl i64 %width, 1
  %below = add i64 %twice, %at
  %next = add i64 %below, 3
  %q = getelementptr inbounds i16, ptr addrspace(1) %from, i64 %next
  %value = load i16, ptr addrspace(1) %q
  ret i16 %value
}
; CHECK: @above
; CHECK: %p = getelementptr inbounds float, ptr addrspace(1) %from, i64 %at
; CHECK-NEXT: %1 = sub i64 0, %width
; CHECK-NEXT: %2 = getelementptr float, ptr addrspace(1) %p, i64 %1
; CHECK: load float, ptr addrspace(1) %2
; CHECK: @behind
; CHECK: %1 = getelementptr i16, ptr addrspace(1) %from, i64 %at
; CHECK: %2 = getelementptr i16, ptr addrspace(1) %1, i64 %twice
; CHECK: getelementptr i16, ptr addrspace(1) %2, i64 3
; What all have in common has one address, and a sum of 32 bits may wrap.
define float @common(ptr addrspace(1) %from, i64 %k, i64 %width) {
  %at = sub i64 %k, %width
  %p = getelementptr inbounds float, ptr addrspace(1) %from, i64 %at
  %a = load float, ptr addrspace(1) %p
  ret float %a
}
define float @short(ptr addrspace(1) %from, i32 %width) {
  %id = call i64 @llvm.spv.thread.id.i64(i32 0)
  %at = trunc i64 %id to i32
  %above = sub i32 %at, %width
  %p = getelementptr inbounds float, ptr addrspace(1) %from, i32 %above
  %a = load float, ptr addrspace(1) %p
  ret float %a
}
; A number from the other: the work-item's own is subtracted.
define float @mirrored(ptr addrspace(1) %from, i64 %width) {
  %at = call i64 @llvm.spv.thread.id.i64(i32 0)
  %from.end = sub i64 %width, %at
  %p = getelementptr inbounds float, ptr addrspace(1) %from, i64 %from.end
  %a = load float, ptr addrspace(1) %p
  ret float %a
}
; CHECK: @common
; CHECK: getelementptr inbounds float, ptr addrspace(1) %from, i64 %at
; CHECK: @short
; CHECK: getelementptr inbounds float, ptr addrspace(1) %from, i32 %above
; CHECK: @mirrored
; CHECK: getelementptr inbounds float, ptr addrspace(1) %from, i64 %from.end
