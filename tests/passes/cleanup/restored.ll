; SPEC kernel: vector entry_vector 0 1
; SPEC kernel: forges entry_forges 0 1
; SPEC host-memory: vector
; SPEC host-memory: forges
; SPEC restored: vector
; SPEC restored: forges
; Where a launch can undo what a kernel changes, cleanup is told of, and so is an address that is made of a number.
declare void @closure()
declare i32 @personality(...)
define void @entry_vector(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @personality {
  invoke void @closure() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  %vector = load ptr, ptr %k
  store i64 0, ptr %vector
  resume { ptr, i32 } %pad
}
define void @entry_forges(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  %at = inttoptr i64 %x to ptr
  store i64 0, ptr %at
  ret void
}
; CHECK: ; kernel vector: needs unwinding
; CHECK-NEXT: ; kernel forges: needs forged-addresses
; CHECK-NEXT: end of violations
