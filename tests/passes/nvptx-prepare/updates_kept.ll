; A fence after the update acquires.

define void @acquired(ptr addrspace(1) %p, i32 %x) {
  %acquired = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  fence syncscope("device") acquire
  ret void
}

; The fence may come much later.
define void @acquired_later(ptr addrspace(1) %p, i32 %x, i1 %more) {
  %acquired = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  br i1 %more, label %later, label %done
later:
  store i32 %x, ptr addrspace(1) %p, align 4
  fence syncscope("device") seq_cst
  br label %done
done:
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @acquired(ptr addrspace(1) %p, i32 %x) {
; CHECK-NEXT: %acquired = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
; CHECK-NEXT: fence syncscope("device") acquire
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define void @acquired_later(ptr addrspace(1) %p, i32 %x, i1 %more) {
; CHECK-NEXT: %acquired = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
; CHECK-NEXT: br i1 %more, label %later, label %done
; CHECK-EMPTY:
; CHECK-NEXT: later: ; preds = %0
; CHECK-NEXT: store i32 %x, ptr addrspace(1) %p, align 4
; CHECK-NEXT: fence syncscope("device") seq_cst
; CHECK-NEXT: br label %done
; CHECK-EMPTY:
; CHECK-NEXT: done: ; preds = %later, %0
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
