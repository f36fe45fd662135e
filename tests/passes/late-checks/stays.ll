; Loops that stay: one that stores; one whose end nobody can count; addresses of which nothing is known; a load between the checks from elsewhere; an
; atomic load; a branch on what is loaded; a way out that is no panic; a step of several elements; an index that is extended by its sign from 32 bits.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define i64 @stores(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, ptr %out, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  store i64 %sum.next, ptr %out
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @endless(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %value, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @unknown.choice(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef %x, i64 noundef %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @unknown.indices(ptr noundef %a, i64 noundef %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @unchecked(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %other = getelementptr i64, ptr %x, i64 %value
  %far = load i64, ptr %other
  %sum.next = add i64 %sum, %far
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @atomic(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load atomic i64, ptr %from monotonic, align 8
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @branches(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %on ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %on ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %odd = trunc i64 %value to i1
  br i1 %odd, label %more.of.it, label %on
more.of.it:
  %twice = mul i64 %value, 3
  br label %on
on:
  %added = phi i64 [ %value, %inside ], [ %twice, %more.of.it ]
  %sum.next = add i64 %sum, %added
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @finds(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %on ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %found = icmp eq i64 %value, 7
  br i1 %found, label %there, label %on
on:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
there:
  ret i64 %k
done:
  ret i64 -1
}
define i64 @apart(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %lane, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ %lane, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %x, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 32
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @signed(ptr noundef "schism.slice"="0:4" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  %len = trunc i64 %x.len to i32
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i32, ptr %a, i64 %k
  %at = load i32, ptr %from
  %ok = icmp ult i32 %at, %len
  br i1 %ok, label %inside, label %panic
inside:
  %index = sext i32 %at to i64
  %place = getelementptr i64, ptr %x, i64 %index
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @stores
; CHECK-NOT: @llvm.umax
; CHECK: attributes
