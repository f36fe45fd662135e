; Relaxed updates that order their own thread only become plain; all others stay.
define i32 @kernel(ptr %bin, ptr %shared) {
  %a = atomicrmw add ptr %bin, i32 1 syncscope("singlethread") monotonic, align 4
  %b = atomicrmw umax ptr %bin, i32 7 syncscope("singlethread") monotonic, align 4
  %c = atomicrmw add ptr %shared, i32 1 monotonic, align 4
  %d = atomicrmw add ptr %bin, i32 1 syncscope("singlethread") seq_cst, align 4
  %sum = add i32 %a, %b
  %more = add i32 %c, %d
  %all = add i32 %sum, %more
  ret i32 %all
}
; CHECK: load i32, ptr %bin, align 4
; CHECK-NEXT: add i32 {{.*}}, 1
; CHECK-NEXT: store i32 {{.*}}, ptr %bin, align 4
; CHECK: load i32, ptr %bin, align 4
; CHECK-NEXT: icmp ugt i32 {{.*}}, 7
; CHECK-NEXT: select
; CHECK-NEXT: store i32 {{.*}}, ptr %bin, align 4
; CHECK-NEXT: atomicrmw add ptr %shared, i32 1 monotonic
; CHECK-NEXT: atomicrmw add ptr %bin, i32 1 syncscope("singlethread") seq_cst
