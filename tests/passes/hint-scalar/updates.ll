; A histogram: four updates for each word that is loaded.
define void @histogram(ptr addrspace(1) %words, ptr addrspace(3) %bins, i64 %first, i64 %step, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %words, i64 %k
  %word = load i32, ptr addrspace(1) %at
  %a = and i32 %word, 65535
  %a.at = getelementptr i32, ptr addrspace(3) %bins, i32 %a
  %a.old = atomicrmw add ptr addrspace(3) %a.at, i32 1 monotonic
  %b = lshr i32 %word, 16
  %b.at = getelementptr i32, ptr addrspace(3) %bins, i32 %b
  %b.old = atomicrmw add ptr addrspace(3) %b.at, i32 1 monotonic
  %next = add i64 %k, %step
  %goes.on = icmp ult i64 %next, %n
  br i1 %goes.on, label %loop, label %end
end:
  ret void
}
; A sum, and one update when it is there.
define void @sum(ptr addrspace(1) %words, ptr addrspace(1) %to, i64 %first, i64 %step, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %words, i64 %k
  %word = load i32, ptr addrspace(1) %at
  %more = add i32 %sum, %word
  %next = add i64 %k, %step
  %goes.on = icmp ult i64 %next, %n
  br i1 %goes.on, label %loop, label %end
end:
  %old = atomicrmw add ptr addrspace(1) %to, i32 %more monotonic
  ret void
}
; Few numbers are counted, if any: half of what is lost is less than what is won.
define void @filter(ptr addrspace(1) %words, ptr addrspace(1) %to, i64 %first, i64 %step, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %next, %on ]
  %at = getelementptr i32, ptr addrspace(1) %words, i64 %k
  %word = load i32, ptr addrspace(1) %at
  %is.large = icmp ugt i32 %word, 1000
  br i1 %is.large, label %count, label %on
count:
  %old = atomicrmw add ptr addrspace(1) %to, i32 1 monotonic
  br label %on
on:
  %next = add i64 %k, %step
  %goes.on = icmp ult i64 %next, %n
  br i1 %goes.on, label %loop, label %end
end:
  ret void
}
; CHECK: define void @histogram(ptr addrspace(1) %words, ptr addrspace(3) %bins, i64 %first, i64 %step, i64 %n) #0
; CHECK: define void @sum(ptr addrspace(1) %words, ptr addrspace(1) %to, i64 %first, i64 %step, i64 %n) {
; CHECK: define void @filter(ptr addrspace(1) %words, ptr addrspace(1) %to, i64 %first, i64 %step, i64 %n) {
; CHECK: attributes #0 = { "schism.scalar" }
