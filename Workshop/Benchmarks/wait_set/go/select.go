// SPDX-License-Identifier: Apache-2.0
//
// Go's select in the loops of wait_set/contender.h.
package main

import "C"
import "time"

const queues, places = 3, 1024

func channels() (made [queues]chan uint64) {
	for index := range made {
		made[index] = make(chan uint64, places)
	}
	return made
}

func serve(from [queues]chan uint64, count uint64, body func(uint64)) {
	for served := uint64(0); served < count; served++ {
		var number uint64
		select {
		case number = <-from[0]:
		case number = <-from[1]:
		case number = <-from[2]:
		}
		body(number)
	}
}

func checked(sum, count uint64, began time.Time) C.double {
	took := time.Since(began)
	if sum != count*(count-1)/2 {
		panic("an element was lost or doubled")
	}
	return C.double(float64(took.Nanoseconds()) / float64(count))
}

//export bench_go_select_flow
func bench_go_select_flow(producers, count C.uint) C.double {
	to, n, step := channels(), uint64(count), uint64(producers)
	sum := uint64(0)
	began := time.Now()
	for first := uint64(0); first < step; first++ {
		go func(first uint64) {
			for number := first; number < n; number += step {
				to[number%queues] <- number
			}
		}(first)
	}
	serve(to, n, func(number uint64) { sum += number })
	return checked(sum, n, began)
}

//export bench_go_select_trip
func bench_go_select_trip(count C.uint) C.double {
	to, answers, n := channels(), make(chan uint64, places), uint64(count)
	sum := uint64(0)
	began := time.Now()
	go serve(to, n, func(number uint64) { answers <- number })
	for number := uint64(0); number < n; number++ {
		to[number%queues] <- number
		sum += <-answers
	}
	return checked(sum, n, began)
}

func main() {}
