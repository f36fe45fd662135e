; The compiler's marks go, as calls and as invokes; other empty assembly stays.
define void @kernel() personality ptr @rust_eh_personality {
  call void asm sideeffect inteldialect "/* schism: convergent */", "~{memory}"()
  call void asm sideeffect "", "~{memory}"()
  invoke void asm sideeffect unwind "/* schism: convergent */", ""() to label %next unwind label %pad
next:
  ret void
pad:
  %p = landingpad { ptr, i32 } cleanup
  ret void
}
declare i32 @rust_eh_personality(...)
; CHECK: define void @kernel()
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: br label %next
; CHECK-NOT: schism
