; A store at an unknown index may change anything; an update, too.
; CHECK: i32 @schism.loop
; CHECK: store i32 %a
; CHECK: store i32 %b
; CHECK: %c = load i32
; CHECK: atomicrmw
; CHECK: %d = load i32
; CHECK: ret i32
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare ptr @schism.local_memory(ptr)
define i32 @schism.loop(i32 %a, i32 %b, i64 %i, ptr %group) #0 {
  %tile = call noalias ptr @schism.local_memory(ptr %group)
  store i32 %a, ptr %tile, align 4
  %any = getelementptr inbounds i32, ptr %tile, i64 %i
  store i32 %b, ptr %any, align 4
  %c = load i32, ptr %tile, align 4
  %old = atomicrmw add ptr %any, i32 %c syncscope("singlethread") acq_rel, align 4
  %d = load i32, ptr %tile, align 4
  %sum = add i32 %d, %old
  ret i32 %sum
}
attributes #0 = { "schism-cut" "schism-group-size"="16,1,1" }
