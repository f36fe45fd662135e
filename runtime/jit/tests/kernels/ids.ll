; Each work-item adds its id, with the range's sizes, to its place of the output.

define internal i64 @linear() {
start:
  %x = call i64 @__schism_global_id_x()
  %y = call i64 @__schism_global_id_y()
  %z = call i64 @__schism_global_id_z()
  %nx = call i64 @__schism_global_range_x()
  %ny = call i64 @__schism_global_range_y()
  %plane = mul i64 %z, %ny
  %row = add i64 %plane, %y
  %rows = mul i64 %row, %nx
  %index = add i64 %rows, %x
  ret i64 %index
}

define void @ids(ptr %out) {
start:
  %index = call i64 @linear()
  %x = call i64 @__schism_global_id_x()
  %y = call i64 @__schism_global_id_y()
  %z = call i64 @__schism_global_id_z()
  %nx = call i64 @__schism_global_range_x()
  %ny = call i64 @__schism_global_range_y()
  %nz = call i64 @__schism_global_range_z()
  %at = getelementptr inbounds [6 x i64], ptr %out, i64 %index
  call void @put(ptr %at, i64 0, i64 %x)
  call void @put(ptr %at, i64 1, i64 %y)
  call void @put(ptr %at, i64 2, i64 %z)
  call void @put(ptr %at, i64 3, i64 %nx)
  call void @put(ptr %at, i64 4, i64 %ny)
  call void @put(ptr %at, i64 5, i64 %nz)
  ret void
}

; Adds, so that a work-item that runs twice shows.
define internal void @put(ptr %place, i64 %index, i64 %value) {
start:
  %at = getelementptr inbounds i64, ptr %place, i64 %index
  %old = load i64, ptr %at, align 8
  %more = add i64 %value, 1
  %new = add i64 %old, %more
  store i64 %new, ptr %at, align 8
  ret void
}

; A builtin in a recursive function, which cannot be inlined: the digits of the id, summed.
define internal i64 @digits(i64 %value) noinline {
start:
  %small = icmp ult i64 %value, 10
  br i1 %small, label %last, label %more
more:
  %rest = udiv i64 %value, 10
  %digit = urem i64 %value, 10
  %sum = call i64 @digits(i64 %rest)
  %total = add i64 %sum, %digit
  ret i64 %total
last:
  %id = call i64 @__schism_global_id_x()
  %range = call i64 @__schism_global_range_x()
  %high = mul i64 %id, 1000
  %higher = mul i64 %range, 1000000
  %a = add i64 %high, %value
  %b = add i64 %a, %higher
  ret i64 %b
}

define void @deep_ids(ptr %out) {
start:
  %i = call i64 @__schism_global_id_x()
  %value = call i64 @digits(i64 %i)
  %at = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %value, ptr %at, align 8
  ret void
}

; A kernel without parameters does nothing, rightly.
define void @nothing() {
start:
  ret void
}
