import './first.ts'

import { mount } from 'svelte'

import './api/outside.ts'
import App from './App.svelte'
import './app.css'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')
target.replaceChildren() // what stands there for a page that does not come so far
mount(App, { target })
