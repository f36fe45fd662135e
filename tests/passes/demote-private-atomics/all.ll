; A local's atomics are plain accesses, through casts, offsets and choices too; others stay.
define i32 @f(ptr %p, i1 %which) {
  %a = alloca [2 x i32]
  %b = alloca i32
  %at = getelementptr i32, ptr %a, i64 1
  %either = select i1 %which, ptr %at, ptr %b
  %old = atomicrmw add ptr %either, i32 5 seq_cst, align 4
  %most = atomicrmw umax ptr %b, i32 %old monotonic, align 4
  %not = atomicrmw nand ptr %b, i32 %most acq_rel, align 4
  %pair = cmpxchg ptr %b, i32 %not, i32 7 seq_cst acquire, align 4
  %value = extractvalue { i32, i1 } %pair, 0
  store atomic i32 %value, ptr %b release, align 4
  %now = load atomic i32, ptr %b syncscope("device") acquire, align 4
  %mixed = select i1 %which, ptr %p, ptr %b
  %kept = atomicrmw add ptr %mixed, i32 %now seq_cst, align 4
  ret i32 %kept
}
; CHECK: load i32, ptr %either, align 4
; CHECK-NEXT: add i32
; CHECK-NEXT: store i32
; CHECK: icmp ugt i32
; CHECK: xor i32
; CHECK: icmp eq i32
; CHECK-NEXT: select i1
; CHECK-NEXT: store i32
; CHECK: insertvalue { i32, i1 } poison
; CHECK: store i32 %value, ptr %b, align 4
; CHECK: %now = load i32, ptr %b, align 4
; CHECK: %kept = atomicrmw add ptr %mixed, i32 %now seq_cst, align 4
