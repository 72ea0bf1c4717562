import './first.ts'

import { mount } from 'svelte'

import './api/outside.ts'
import App from './App.svelte'
import './app.css'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')
mount(App, { target })
